import type { ContainerConfig } from "../../cri/generated/cri.ts";
import type { ImageConfig } from "../image/images.ts";
import { invalidArgument } from "../runtime-error.ts";

/** A command replaces the image's entry point and its arguments; arguments alone replace only those. */
export function processArgs(
  config: Pick<ContainerConfig, "command" | "args">,
  image: Pick<ImageConfig, "entrypoint" | "command">,
): string[] {
  const { command, args } = config;
  const result =
    command.length > 0
      ? [...command, ...args]
      : [...image.entrypoint, ...(args.length > 0 ? args : image.command)];
  if (result.length === 0) throw invalidArgument("neither the container nor its image says what to run");
  return result;
}

/** The image's variables, overridden by the container's. Drivers see to a PATH and, with a terminal, a TERM. */
export function processEnv(
  config: Pick<ContainerConfig, "envs">,
  image: Pick<ImageConfig, "env">,
  hostname: string,
): string[] {
  const given = config.envs.map(({ key, value }) => `${key}=${Buffer.from(value).toString("utf8")}`);
  const all = [`HOSTNAME=${hostname}`, ...image.env, ...given];
  const byName = new Map(all.map((entry) => [entry.slice(0, entry.indexOf("=")), entry]));
  return [...byName.values()];
}
