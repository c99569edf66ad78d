import type { AddressGuard } from '../../delivery/guard-address.ts'
import { AppError } from '../../errors.ts'
import type { AlertChannelPatch } from '../../schemas/alert.ts'

/** @throws AppError bad_request for an address that nothing may be sent to */
export function checkChannel(settings: AlertChannelPatch['settings'], guard: AddressGuard): void {
  if (settings === undefined) return
  const isEmail = settings.kind === 'email'
  const given = isEmail ? settings.smtpUrl : settings.url
  if (given === undefined) return
  const refusal = guard.refuseUrl(isEmail ? `http://${new URL(given).hostname}` : given)
  const path = `settings.${isEmail ? 'smtpUrl' : 'url'}`
  if (refusal !== undefined) throw new AppError('bad_request', `${path}: ${refusal.reason}`, { path })
}
