import { serveReadings } from '../../src/parsing/serve-readings.ts'

serveReadings({ echo: () => import('./echo.ts') })
