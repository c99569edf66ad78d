/** A membership that cannot be used as it is; the message is for the operator and has no secrets. */
export class MembershipError extends Error {
  override name = 'MembershipError'

  /** What becomes of the sync, in a sentence. */
  get sentence(): string {
    return `The membership cannot be used: ${this.message}.`
  }
}
