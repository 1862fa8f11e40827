export { closeCircuit, pauseJanitor } from '../../systems/janitor/work/switches.ts'
