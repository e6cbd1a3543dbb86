import type { Secret } from "../../api/objects.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import type { KeyringEntry, RegistryLogin } from "./registry-keyring.ts";

/** Where secrets of each type have their configuration. */
const keys: Readonly<Record<string, string>> = {
  "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
  "kubernetes.io/dockercfg": ".dockercfg",
};

/**
 * The logins in a pull secret; none in secrets of other types. Throws an Error that names what is wrong with it: a
 * pull that went on without would fail with something that points elsewhere.
 */
export function readPullSecret(secret: Secret): readonly KeyringEntry[] {
  const key = keys[secret.type ?? ""];
  const data = key && secret.data?.[key];
  if (!key || !data) return [];
  const refuse = (why: string) => new Error(`${key} of pull secret "${secret.metadata.name}" ${why}`);
  const parsed = parseJson(Buffer.from(data, "base64").toString("utf8"));
  const servers = key === ".dockerconfigjson" ? field(parsed, "auths") : parsed;
  if (!isMapping(parsed) || !isMapping(servers ?? {})) throw refuse("is not a docker configuration in JSON");
  return Object.entries(servers ?? {}).map(([server, entry]) => {
    const login = readLogin(entry);
    if (!login) throw refuse(`has no usable login for "${server}": auth must be base64(username:password)`);
    return { server, login };
  });
}

/** `auth` wins over the plain fields, as upstream reads them. */
function readLogin(entry: unknown): RegistryLogin | undefined {
  if (!isMapping(entry)) return undefined;
  const { username = "", password = "", auth = "" } = entry;
  if (typeof username !== "string" || typeof password !== "string" || typeof auth !== "string")
    return undefined;
  if (auth === "") return { username, password };
  // Without line ends first: an expression that allows for them could be kept busy for minutes.
  const text = auth.replaceAll(/[\r\n]/g, "").trimEnd();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const decoded = Buffer.from(text, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon === -1 ? undefined : { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
