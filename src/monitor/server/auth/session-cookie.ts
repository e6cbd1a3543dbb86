/** Browsers take a name with this beginning only from HTTPS, for this host alone and for all of its paths. */
const name = "__Host-kindling";
const attributes = "Path=/; HttpOnly; Secure; SameSite=Strict";

export function readSessionCookie(header: string | undefined): string | undefined {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

export function setSessionCookie(value: string): string {
  return `${name}=${value}; ${attributes}`;
}

export function clearSessionCookie(): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}
