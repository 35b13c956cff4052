// MAC addresses, as vendors write them: 00:00:5e:00:53:01, 00-00-5E-00-53-01, 0000.5e00.5301 or 00005e005301.

/** To be put into a larger pattern; it captures the address. */
export const MAC =
  '((?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\\.){2}[0-9A-Fa-f]{4}|[0-9A-Fa-f]{12})'

const WHOLE = new RegExp(`^${MAC}$`)

/** In lower case with colons; undefined for what is no MAC. */
export function macOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || !WHOLE.test(text)) return undefined
  const digits = text.toLowerCase().replace(/[.:-]/g, '')
  return digits.replace(/..(?!$)/g, '$&:')
}
