import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { describePromotions } from './promotions.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver')
if (missing) console.warn(`\n*** Flux on a real kube-apiserver is SKIPPED: ${missing}\n`)

describePromotions('a real kube-apiserver', missing)
