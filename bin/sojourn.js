#!/usr/bin/env node
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runPinned } from './pinned-node.js'

runPinned([join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'cli', 'main.ts'), ...process.argv.slice(2)])
