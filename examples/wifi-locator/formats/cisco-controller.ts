// Cisco's controllers, AireOS and C9800. These messages say that a station is in the network, and not where: they
// name no access point, and the host of their lines is the controller.
import { type Action, severities } from '../events.ts'
import { MAC } from '../mac.ts'
import { type Said, station } from './format.ts'

const AIREOS = new RegExp(`%APF-([0-7])-USER_NAME_(CREATED|DELETED): .*mobile ${MAC}`)
const C9800 = new RegExp(`%CLIENT_ORCH_LOG-([0-7])-(CLIENT_[A-Z_]+): .*MAC: ?${MAC}`)
const GONE = /DELETED|REMOVED|DISCONNECT/

export function ciscoController(message: string): Said | undefined {
  const [all, severity, event, mac] = AIREOS.exec(message) ?? C9800.exec(message) ?? []
  if (all === undefined) return undefined
  return { type: severities[Number(severity)]!, action: actionOf(event!), station: station(mac), ap: null }
}

function actionOf(event: string): Action {
  if (GONE.test(event)) return 'Disconnected'
  return event === 'CREATED' || event === 'CLIENT_ADDED_TO_RUN_STATE' ? 'Connected' : 'Other'
}
