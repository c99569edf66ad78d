/** A membership that cannot be used as it is; the message is for the operator and has no secrets. */
export class MembershipError extends Error {
  override name = 'MembershipError'
}
