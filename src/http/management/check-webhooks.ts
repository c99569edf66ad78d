import type { AddressGuard } from '../../delivery/guard-address.ts'
import { headerProblem } from '../../delivery/headers.ts'
import { AppError } from '../../errors.ts'
import type { WebhookInput } from '../../schemas/destination.ts'

/** Holds the endpoints of a destination against the rules of delivery.
 *  @throws AppError bad_request that names the first header or URL at fault */
export function checkWebhooks(webhooks: readonly WebhookInput[], guard: AddressGuard): void {
  for (const [index, { url, headers }] of webhooks.entries()) {
    const path = `settings.webhooks[${index}]`
    const refusal = guard.refuseUrl(url)
    if (refusal !== undefined) throw memberError(`${path}.url`, refusal.reason)
    const seen = new Set<string>()
    for (const [name, value] of Object.entries(headers ?? {})) {
      const problem = seen.has(name.toLowerCase()) ? `${name} stands here twice.` : headerProblem(name, value)
      if (problem !== undefined) throw memberError(`${path}.headers.${name}`, problem)
      seen.add(name.toLowerCase())
    }
  }
}

const memberError = (path: string, reason: string): AppError =>
  new AppError('bad_request', `${path}: ${reason}`, { path })
