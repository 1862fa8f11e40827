import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What bounds the cost of foreign text. What runs in the parsing thread is tried by its unit tests, which call it directly. */
export const parsingGuards: readonly Guard[] = [
  ...inFile('src/parsing/check-tree.ts', [
    ['82: a cycle', 'if (depthLeft === 0) throw new ParseRefusal', 'if (depthLeft === -1e9) throw new ParseRefusal'],
    ['85: laughs', 'if (--nodesLeft < 0) throw', 'if (nodesLeft < 0) throw'],
    ['85: long text behind aliases', 'textLeft -= length', 'textLeft -= 0 * length'],
  ]),
  ...inFile('src/parsing/yaml-text.ts', [
    ['83: brackets', '{ maxDepth: limits.depth }', '{ maxDepth: 1e9 }'],
    ['84: aliases', '&& --aliasesLeft < 0', '&& aliasesLeft < 0'],
    ['two documents', 'if (--documentsLeft < 0)', 'if (documentsLeft < 0)'],
  ]),
  ...inFile('src/parsing/parsing-thread.ts', [
    ['refuses what takes too much processor time', 'this.#timer = setTimeout(() => void this.#check(), delayMs)', ''],
    ['96: refuses what takes too much memory', "if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')", 'if (!error)'],
    [
      '96: starts another thread when it was killed in the middle',
      'this.#worker = undefined\n    this.#current = undefined',
      'this.#current = undefined',
    ],
    ['takes four texts of one user', '&& own < most.perUser', ''],
    ['keeps 32 texts of users waiting', 'sent.length < most.waiting && ', ''],
  ]),
  ...inFile('src/apiserver/http/request/body.ts', [
    ['at most 5 ms of the main thread', 'if (bytes.length <= mostHere) {', 'if (bytes.length <= 1e9) {'],
  ]),
  ...inFile('src/apiserver/schema/wire/protobuf-reader.ts', [
    ['90: nested messages', 'if (--this.#depthLeft < 0)', 'if (this.#depthLeft < 0)'],
    ['90: too many fields', 'if (--this.#fieldsLeft < 0)', 'if (this.#fieldsLeft < 0)'],
  ]),
  ...inFile('src/apiserver/schema/validation/core.ts', [
    ['92: __proto__ and constructor are keys', 'if (Object.hasOwn(binary, key))', 'if (key in binary)'],
  ]),
  ...inFile('src/app/core/route-table.ts', [
    [
      'is refused, not an error of the server',
      'path.test(given) && percentDecoded(given) !== undefined',
      'path.test(given)',
    ],
  ]),
  ...inFile('src/apiserver/store/sqlite-store.ts', [
    ['97: nobody else reads the store', '  if (options.path !== memoryPath) keepPrivate(options.path)\n', ''],
  ]),
  ...inFile('src/app/cluster/run.ts', [
    ['95: keeps its Lease while', 'client: new Client(network.transport), clock', 'client, clock'],
  ]),
  ...inFile('src/parsing/unzip.ts', [
    ['88: a gzip bomb', '{ maxOutputLength: unzippedBytes }', '{}'],
    ['89: many members that are small each', '{ maxOutputLength: unzippedBytes }', '{}'],
  ]),
  ...inFile('src/helm/release-text.ts', [
    ['8: 201 hooks', 'if (hooks.length > mostHooks)', 'if (hooks.length > 1e9)'],
    ['8: 2,001 documents in hooks', 'budget.documents -= documents.length', ''],
  ]),
  ...inFile('src/helm/release-record.ts', [['are refused once per version', 'if (before) throw before', '']]),
  ...inFile('src/client/kubeconfig.ts', [
    ['refuses a proxy-url', "if (cluster?.['proxy-url'])", 'if (!cluster)'],
    ['28: exec plugins', 'if (user?.exec)', 'if (!user)'],
    ['29: a tokenFile', 'if (user?.tokenFile || ', 'if ('],
  ]),
  ...inFile('src/git/pack.ts', [
    ['51 deltas in a row', 'if (depth > gitPack.depth)', 'if (depth > 1e9)'],
    ['more than 256 MiB in all', 'if (reader.bytesLeft < 0)', 'if (reader.bytesLeft < -1e12)'],
  ]),
  ...inFile('src/kube/basics/quantity.ts', [
    ['132: refuses numbers', 'if (text.length > maxLength) return undefined', ''],
    ['132: refuses numbers', 'nanos > maxNanos ? maxNanos : nanos', 'nanos'],
  ]),
  ...inFile('src/apiserver/http/response/response-writer.ts', [
    ['130: lets other requests be served', 'await breathe()', ''],
  ]),
  ...inFile('src/apiserver/http/response/encoding.ts', [
    ['130: writes a large value as JSON', 'if (json.length <= maxYaml)', 'if (json.length <= 1e9)'],
  ]),
]
