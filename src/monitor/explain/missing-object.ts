import type { Pod } from "../../api/objects.ts";
import { namespaceFlag } from "./explanation.ts";

/** How to make the config map or secret that, by a kubelet's words, is not there; undefined where it says no such thing. */
export function fixMissingObject(
  pod: Pod,
  message: string,
  keyOf: (name: string) => string = () => "KEY",
): string | undefined {
  const [, kind, name] = /(secret|configmap) "([^"]+)" not found/i.exec(message) ?? [];
  if (!kind || !name) return undefined;
  const what = kind.toLowerCase() === "secret" ? "secret generic" : "configmap";
  const create = `kubectl create ${what} ${name}${namespaceFlag(pod)} --from-literal=${keyOf(name)}=VALUE`;
  return `create it, and the pod starts by itself: ${create}`;
}
