import { serveReadings } from '../../parsing/serve-readings.ts'

/** What the parsing thread runs. Each reader is loaded when its first text comes. */
serveReadings({
  answer: () => import('../../parsing/answer-text.ts'),
  'departure-page': () => import('../../departures/records/page-text.ts'),
  'helm-release': () => import('../../helm/release-text.ts'),
  kubeconfig: () => import('../../client/kubeconfig-text.ts'),
  'request-body': () => import('../../apiserver/schema/wire/body-text.ts'),
})
