import { chmod, mkdir, rm } from "node:fs/promises";
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/objects.ts";
import { selectedNodeAnnotation } from "../../api/volume-binding.ts";
import type { Client } from "../../client/client.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { Informer } from "../../client/informer.ts";
import { isAlreadyExists } from "../../client/status-errors.ts";
import { localProvisioner } from "./default-class.ts";
import { makeLocalVolume, ownDirectoryOf, provisionedName, whyNotLocal } from "./local-volume.ts";
import { annotationOf, withoutAnnotation } from "./volume-facts.ts";

export interface LocalProvisioner {
  /** A volume for the claim, or an event that says why not. */
  provision(request: {
    claim: PersistentVolumeClaim;
    storageClass: StorageClass;
    signal: AbortSignal;
  }): Promise<void>;
  /** Removes what is on a volume. Done again, it does no harm. */
  removeData(volume: PersistentVolume): Promise<void>;
}

interface LocalProvisionerDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly nodes: Informer<Node>;
  readonly volumes: Informer<PersistentVolume>;
  /** On the machine that this and all nodes run on. */
  readonly directory: string;
}

export function createLocalProvisioner(deps: LocalProvisionerDeps): LocalProvisioner {
  const { client, recorder, nodes, volumes, directory } = deps;

  /** The scheduler's choice; where it was not asked, there is one only in a cluster of one node. */
  function chooseNode(claim: PersistentVolumeClaim): Node | { readonly problem: string } {
    const selected = annotationOf(claim, selectedNodeAnnotation);
    if (selected !== undefined) {
      return nodes.get(selected) ?? { problem: `Failed to get target node: node "${selected}" not found` };
    }
    const [first, second] = nodes.list();
    if (first && !second) return first;
    return {
      problem: `${localProvisioner} needs to know the node: set volumeBindingMode of the StorageClass to WaitForFirstConsumer`,
    };
  }

  async function refuse(claim: PersistentVolumeClaim, message: string, signal: AbortSignal): Promise<void> {
    recorder.record(claim, { type: "Warning", reason: "ProvisioningFailed", message });
    if (annotationOf(claim, selectedNodeAnnotation) === undefined) return;
    // The scheduler may choose again, and does not wait in vain.
    await client.update("persistentvolumeclaims", withoutAnnotation(claim, selectedNodeAnnotation), {
      signal,
    });
  }

  return {
    async provision({ claim, storageClass, signal }) {
      if (volumes.get(provisionedName(claim))) return;
      const node = chooseNode(claim);
      const problem = whyNotLocal(claim, storageClass) ?? ("problem" in node ? node.problem : undefined);
      if (problem !== undefined || "problem" in node) {
        const message = `Failed to provision volume with StorageClass "${storageClass.metadata.name}": ${problem}`;
        return refuse(claim, message, signal);
      }
      const volume = makeLocalVolume({ claim, storageClass, node, directory });
      await makeDirectory(directory, volume.spec?.hostPath?.path ?? "");
      try {
        await client.create("persistentvolumes", volume, { signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      const message = `Successfully provisioned volume ${volume.metadata.name} using ${localProvisioner}`;
      recorder.record(claim, { type: "Normal", reason: "ProvisioningSucceeded", message });
    },
    async removeData(volume) {
      const own = ownDirectoryOf(volume, directory);
      if (!own) {
        const { path } = volume.spec?.hostPath ?? {};
        throw new Error(`spec.hostPath.path "${path}" is not a directory that ${localProvisioner} has made`);
      }
      await rm(own, { recursive: true, force: true });
    },
  };
}

/** Containers run under all kinds of users; the directory above keeps others of the machine from finding their way. */
async function makeDirectory(parent: string, path: string): Promise<void> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777);
}
