import whole from './vitest.config.ts'

/** `npm run test:fast`: what may differ from one version of Node to another, in about a minute. Sockets, TLS, HTTP, databases,
 *  cryptography and the client library, and events carried through a real Temporal server, whose SDK is native code. */
export default {
  test: {
    ...whole.test,
    include: [
      'client/test/{batching,calls,delivery,package,program-end,receiver,spool}.test.ts',
      'test/{config,data-folder,replay,secrets}.test.ts',
      'test/db/{inbox,pglite,postgres,sealed-columns}.test.ts',
      'test/{delivery,http,ingest,intake}/**/*.test.ts',
      'test/regressions/stop-with-idle-connections.test.ts',
      'test/system/{bodies,first-event}.test.ts',
    ],
  },
}
