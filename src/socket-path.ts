/** What systems take as path of a Unix socket: 104 bytes on macOS, 108 on Linux, with a zero at the end. */
const maxBytes = 103

export const fitsSocket = (path: string): boolean => Buffer.byteLength(path) <= maxBytes
