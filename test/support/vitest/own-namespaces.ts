import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ForksPoolWorker, type PoolOptions, type PoolRunnerInitializer } from "vitest/node";

const launcher = fileURLToPath(new URL("own-namespaces.sh", import.meta.url));

/** Worker process in a new network and mount namespace. */
class NamespacedWorker extends ForksPoolWorker {
  override readonly name = "own-namespaces";

  constructor(options: PoolOptions) {
    super({ ...options, env: { ...options.env, KINDLING_TEST_NODE: process.execPath } });
  }

  override async start(): Promise<void> {
    // The base class has no option for the program; it forks `process.execPath` synchronously.
    const node = process.execPath;
    process.execPath = launcher;
    const started = super.start();
    process.execPath = node;
    await started;
  }
}

/**
 * Pool for tests that create bridges, packet rules or mounts: names of one worker cannot collide with those of another,
 * and the interfaces of the machine do not change. Without root, unshare or ip the workers share the machine's namespaces.
 */
export const ownNamespaces: PoolRunnerInitializer | "forks" = canCreateNamespaces()
  ? { name: "own-namespaces", createPoolWorker: (options) => new NamespacedWorker(options) }
  : "forks";

/** Whether this process may create the namespaces, and the programs for it are installed. */
export function canCreateNamespaces(): boolean {
  const env = { ...process.env, KINDLING_TEST_NODE: "true" };
  return spawnSync(launcher, { env }).status === 0;
}
