import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createKeyedMutex } from "../../../lib/keyed-mutex.ts";
import type { Logger } from "../../../lib/logger.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { findProgram } from "../../drivers/find-program.ts";
import {
  broken,
  checkPodId,
  type Network,
  NetworkError,
  notAttached,
  type PodNetworkRequest,
} from "../network.ts";
import { isPinned, pinNamespaces, unpinNamespaces } from "../pin-namespaces.ts";
import { createPodRecords } from "../pod-records.ts";
import { endLeftoverProcesses } from "../run-process.ts";
import {
  addressesOf,
  type CniConfig,
  type CniRecord,
  isVersionAtLeast,
  parseCniRecord,
} from "./cni-config.ts";
import { capabilityArgs, invokePlugin } from "./invoke-plugin.ts";
import { addAll, bringLoopbackUp, type Chain, checkAll, deleteAll, removeMasquerade } from "./run-chain.ts";

export interface CniOptions {
  readonly directory: string;
  readonly logger: Logger;
  readonly binDirs: readonly string[];
  /**
   * Loads the configuration; called for each pod because it may change at any time. Pods keep the one they started
   * with.
   */
  readonly loadConfig: () => Promise<CniConfig | undefined>;
  /** Loads it without creating anything, to check its plugins. Defaults to `loadConfig`. */
  readonly previewConfig?: () => Promise<CniConfig | undefined>;
  readonly pluginTimeoutMs?: number;
  /** Removes what the default configuration created; called only when no pod is left. */
  readonly removeShared?: () => Promise<void>;
}

/** Network in which CNI plugins attach pods. */
export function createCniNetwork(options: CniOptions): Network {
  const { directory, logger, binDirs, loadConfig, pluginTimeoutMs = 30_000 } = options;
  const namespacesDirectory = join(directory, "namespaces");
  const records = createPodRecords(join(directory, "pods"), parseCniRecord);
  const perPod = createKeyedMutex();
  const findProblem = createCniProblemFinder(binDirs, pluginTimeoutMs);

  async function make(pod: PodNetworkRequest): Promise<CniRecord> {
    const { podId } = pod;
    const config = await loadConfig();
    if (!config) throw new NetworkError("invalid", "there is no CNI configuration");
    const ownDirectory = join(namespacesDirectory, podId);
    const namespacePath = pod.namespacePath ?? join(ownDirectory, "net");
    const record: CniRecord = {
      config,
      namespacePath,
      args: podArgs(pod),
      capabilityArgs: capabilityArgs(pod),
    };
    await records.write(podId, record);
    const chain = chainOf(podId, record);
    let begun = 0;
    try {
      if (pod.namespacePath === undefined)
        await pinNamespaces({ podId, directory: ownDirectory, kinds: ["net"] });
      await bringLoopbackUp(chain);
      const result = await addAll(chain, () => begun++);
      const attached = { ...record, result };
      await records.write(podId, attached);
      return attached;
    } catch (error) {
      await undo(chain, { begun, error });
      throw error;
    }
  }

  /** Undoes a failed ADD. The plugin that failed holds nothing, so an error of its DEL is ignored. */
  async function undo(chain: Chain, { begun, error }: { begun: number; error: unknown }): Promise<void> {
    const { podId } = chain.pod;
    const pluginFailed = error instanceof NetworkError && error.code === "pluginFailed";
    const config = { ...chain.config, plugins: chain.config.plugins.slice(0, begun) };
    const failures = await deleteAll({ ...chain, config }, undefined);
    const serious = failures.filter(({ index }) => !(pluginFailed && index === begun - 1));
    for (const failure of serious)
      logger.warn("a CNI plugin cannot undo a failed attach", { podId, error: failure.error });
    await unpinNamespaces(join(namespacesDirectory, podId));
    // Kept when a plugin may still hold something: list shows the pod, and detach tries again.
    if (serious.length === 0) await records.remove(podId);
  }

  async function release(podId: string): Promise<void> {
    const record = (await records.read(podId)) ?? (await guessRecord(podId));
    if (!record?.result) await endLeftoverProcesses(podId);
    if (record) {
      const failures = await deleteAll(
        chainOf(podId, record, await isPinned(record.namespacePath)),
        record.result,
      );
      if (failures.length > 0)
        throw new NetworkError("pluginFailed", failures.map(({ error }) => error.message).join("; "));
      await removeMasquerade(podId, record.config);
    }
    await unpinNamespaces(join(namespacesDirectory, podId));
    await records.remove(podId);
  }

  /** Record for one that is unreadable, for example after a power failure: plugins release a pod by its ID alone. */
  async function guessRecord(podId: string): Promise<CniRecord | undefined> {
    if (!(await records.ids()).includes(podId)) return undefined;
    const config = await loadConfig();
    const namespacePath = join(namespacesDirectory, podId, "net");
    return config && { config, namespacePath, args: "IgnoreUnknown=1", capabilityArgs: { portMappings: [] } };
  }

  /** Without a namespace, DEL gets no path, as the specification requires: plugins then release what they can. */
  function chainOf(podId: string, record: CniRecord, hasNamespace = true): Chain {
    const { config, args } = record;
    const namespacePath = hasNamespace ? record.namespacePath : "";
    return {
      config,
      pod: { podId, namespacePath, args, interfaceName: "eth0" },
      capabilityArgs: record.capabilityArgs,
      binDirs,
      timeoutMs: pluginTimeoutMs,
    };
  }

  async function list(): Promise<readonly string[]> {
    const pinned = await readdir(namespacesDirectory).catch(() => []);
    return [...new Set([...(await records.ids()), ...pinned])];
  }

  return {
    name: "cni",
    limitations: [],
    async problem() {
      try {
        const config = await (options.previewConfig ?? loadConfig)();
        return config ? await findProblem(config) : "there is no CNI configuration";
      } catch (error) {
        return messageOf(error);
      }
    },
    attach: (pod) =>
      perPod.run(pod.podId, async () => {
        checkPodId(pod.podId);
        let record = await records.read(pod.podId);
        if (record && !(record.result && (await isPinned(record.namespacePath)))) {
          await release(pod.podId);
          record = undefined;
        }
        record ??= await make(pod);
        return { namespacePath: record.namespacePath, addresses: addressesOf(record.result ?? {}) };
      }),
    check: (podId) =>
      perPod.run(podId, async () => {
        const record = await records.read(podId);
        if (!record?.result) throw notAttached(podId);
        if (!(await isPinned(record.namespacePath)))
          throw broken(podId, `its namespace ${record.namespacePath} is gone`);
        await checkAll(chainOf(podId, record), record.result).catch((error: Error) => {
          throw broken(podId, error.message);
        });
      }),
    detach: (podId) =>
      perPod.run(podId, async () => {
        checkPodId(podId);
        await release(podId);
      }),
    list,
    // The plugins decide how pods are connected.
    prepare: async () => undefined,
    async close() {
      if ((await list()).length === 0) await options.removeShared?.();
    },
  };
}

function podArgs({ podId, namespace, name, uid }: PodNetworkRequest): string {
  return [
    "IgnoreUnknown=1",
    `K8S_POD_NAMESPACE=${namespace}`,
    `K8S_POD_NAME=${name}`,
    `K8S_POD_INFRA_CONTAINER_ID=${podId}`,
    `K8S_POD_UID=${uid}`,
  ].join(";");
}

/** Versions that plugins support, by path; requested once. */
type KnownVersions = Map<string, readonly unknown[]>;

/** Returns why pods cannot be attached with a configuration; undefined when its plugins report no problem. */
function createCniProblemFinder(binDirs: readonly string[], timeoutMs: number) {
  const known: KnownVersions = new Map();

  return async function findProblem(config: CniConfig): Promise<string | undefined> {
    for (const plugin of config.plugins) {
      const { type } = plugin;
      const path = findProgram(type, binDirs);
      if (!path) return `CNI plugin ${type} is not in ${binDirs.join(" or ")}`;
      try {
        const versions = known.get(path) ?? (await supportedVersions(type));
        known.set(path, versions);
        if (versions.length > 0 && !versions.includes(config.cniVersion))
          return `CNI plugin ${type} does not support version ${config.cniVersion} of the specification`;
        if (isVersionAtLeast(config.cniVersion, "1.1.0")) {
          const { name, cniVersion } = config;
          await invokePlugin({
            ...{ command: "STATUS", type, binDirs, timeoutMs },
            config: { ...plugin, name, cniVersion },
          });
        }
      } catch (error) {
        return messageOf(error);
      }
    }
    return undefined;
  };

  async function supportedVersions(type: string): Promise<readonly unknown[]> {
    const config = { cniVersion: "1.0.0" };
    const { supportedVersions } = await invokePlugin({
      command: "VERSION",
      type,
      binDirs,
      timeoutMs,
      config,
    });
    return Array.isArray(supportedVersions) ? supportedVersions : [];
  }
}
