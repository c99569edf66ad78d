interface ProfileOptions {
  address: string
  namespace: string
  apiKey: string
  /** Files in PEM. */
  tls: { authority: string; cert: string; key: string }
}

/** A file of Temporal's client settings, in TOML, of which the profile `guarded` has all that a server may ask for, and another one leads
 *  nowhere. */
export const temporalProfiles = ({ address, namespace, apiKey, tls }: ProfileOptions): string => `
  [profile.other]
  address = "127.0.0.1:1"
  [profile.guarded]
  address = "${address}"
  namespace = "${namespace}"
  api_key = "${apiKey}"
  [profile.guarded.tls]
  server_ca_cert_path = "${tls.authority}"
  client_cert_path = "${tls.cert}"
  client_key_path = "${tls.key}"`
