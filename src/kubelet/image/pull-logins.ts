import type { Secret } from "../../api/objects.ts";
import { parseImageName, repositoryName } from "../../lib/image-name.ts";
import type { Logger } from "../../lib/logger.ts";
import { readPullSecret } from "./read-pull-secret.ts";
import { findLogins, type KeyringEntry, type RegistryLogin } from "./registry-keyring.ts";
import type { Pull } from "./tracked-pull.ts";

export interface PullLogins {
  /** To be tried in order; none: pull without. */
  readonly logins: readonly RegistryLogin[];
  /** Names of pull secrets that could not be had. */
  readonly missing: readonly string[];
}

/** What the pod's pull secrets have for an image. Goes on without secrets that are not there. */
export async function findPullLogins(
  { getSecret, logger }: { getSecret: SecretGetter; logger: Logger },
  { pod, image, signal }: Pick<Pull, "pod" | "image" | "signal">,
): Promise<PullLogins> {
  const names = (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
  const namespace = pod.metadata.namespace ?? "";
  const secrets = await Promise.all(
    names.map(async (name) => {
      try {
        return await getSecret(namespace, name, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn("a pull secret could not be read", { namespace, secret: name, error });
        return undefined;
      }
    }),
  );
  const entries: KeyringEntry[] = secrets.flatMap((secret) => (secret ? readPullSecret(secret) : []));
  const imageName = parseImageName(image);
  return {
    logins: "problem" in imageName ? [] : findLogins(repositoryName(imageName), entries),
    missing: names.filter((_, i) => secrets[i] === undefined),
  };
}

export type SecretGetter = (
  namespace: string,
  name: string,
  signal: AbortSignal,
) => Promise<Secret | undefined>;
