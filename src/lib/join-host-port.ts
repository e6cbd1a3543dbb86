/** Joins host and port, with brackets around IPv6 addresses: `10.0.0.1:80`, `[::1]:80`. */
export function joinHostPort(host: string, port: string | number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
