/** `10.0.0.1:80`, `[::1]:80`: an IPv6 address has colons of its own. */
export function joinHostPort(host: string, port: string | number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
