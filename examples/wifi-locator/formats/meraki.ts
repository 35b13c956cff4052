// Meraki: `events type=association radio='0' … aid='1813578850'`. Newer firmware names the station (client_mac) in all of
// them, older only in some; the source remembers whose number it is.
import type { Action } from '../events.ts'
import { macOf } from '../mac.ts'
import type { Said } from './format.ts'

const EVENT = /^(?:\S+ )?(?:\S+_)?events type=(\w+) (.*)$/
const FIELD = /(\w+)='([^']*)'/g

const ACTIONS: Readonly<Record<string, Action>> = {
  association: 'Associated',
  disassociation: 'Disassociated',
  wpa_auth: 'Connected',
  wpa_deauth: 'Deauthenticated',
  '8021x_eap_success': 'Connected',
  '8021x_deauth': 'Deauthenticated',
}

export function meraki(message: string): Said | undefined {
  const [all, type = '', text = ''] = EVENT.exec(message) ?? []
  if (all === undefined) return undefined
  const fields = new Map(Array.from(text.matchAll(FIELD), ([, name = '', value = '']) => [name, value]))
  const action = Object.hasOwn(ACTIONS, type) ? ACTIONS[type]! : 'Other'
  return {
    action,
    station: macOf(fields.get('client_mac')),
    radio: fields.get('radio'),
    reason: action === 'Other' ? type : fields.get('reason'),
    ip: fields.get('client_ip'),
    aid: fields.get('aid'),
  }
}
