import type { Pod } from "../api/meta/objects.ts";
import { inCommands, namespaceFlag } from "./commands.ts";
import { type KnownClaim, lastEvent, type PodFacts, sentence } from "./explanation.ts";

/** What keeps a claim from being bound. */
export interface ClaimProblem {
  /** One sentence. */
  readonly because: string;
  readonly isTransient: boolean;
  readonly resolvesWhen?: string;
  readonly fix: string | undefined;
}

/** Problems of the pod's claims. Claims that wait for the scheduler are none. */
export function findClaimProblems({ pod, claims = [] }: PodFacts): readonly ClaimProblem[] {
  return claims.flatMap((known) => claimProblem(pod, known) ?? []);
}

/** Events about a claim that is not bound, as recorded by Kubernetes and external provisioners. */
const reasons = [
  "ProvisioningFailed",
  "FailedBinding",
  "VolumeMismatch",
  "ExternalProvisioning",
  "Provisioning",
];

function claimProblem(pod: Pod, known: KnownClaim): ClaimProblem | undefined {
  const { name } = known;
  if (known.claim.kind === "missing") return missingClaim(pod, name);
  const claim = known.claim.object;
  const { storageClassName } = claim.spec ?? {};
  const { phase } = claim.status ?? {};
  const describe = `kubectl describe pvc ${inCommands(claim)}`;
  if (claim.metadata.deletionTimestamp) {
    const finalizers = claim.metadata.finalizers?.join(", ");
    return {
      because: `The claim "${name}" is being deleted${finalizers ? ` (finalizers: ${finalizers})` : ""}.`,
      isTransient: false,
      fix: `delete the pods that use the claim, then create the claim again: ${describe}`,
    };
  }
  if (phase === "Lost") {
    return {
      because: `The claim "${name}" is bound to volume ${claim.spec?.volumeName}, which does not exist any more.`,
      isTransient: false,
      fix: `restore the volume, or create the claim again: ${describe}`,
    };
  }
  if (phase === "Bound") return undefined;
  if (storageClassName && known.classExists === false) {
    return {
      because: `The claim "${name}" uses the StorageClass "${storageClassName}", which does not exist.`,
      isTransient: false,
      fix: `create the StorageClass ${storageClassName}, or create the claim again with another one: kubectl get storageclasses`,
    };
  }
  const event = lastEvent(known, ...reasons);
  if (event?.message)
    return problemInEvent(known, { reason: event.reason ?? "", message: event.message, describe });
  if (bypassesScheduler(pod, known)) return unscheduledConsumer(name);
  return claim.spec?.volumeName ? awaitedVolume(name, claim.spec.volumeName) : undefined;
}

export function missingClaim(pod: Pod, name: string): ClaimProblem {
  return {
    because: `The pod mounts the claim "${name}", which does not exist.`,
    isTransient: false,
    fix: `create the PersistentVolumeClaim ${name}, or correct spec.volumes in a new pod: kubectl get pvc${namespaceFlag(pod)}`,
  };
}

function problemInEvent(
  { name, claim }: KnownClaim,
  {
    reason,
    message,
    describe,
  }: { readonly reason: string; readonly message: string; readonly describe: string },
): ClaimProblem {
  const because = sentence(`The claim "${name}" is not bound: ${message}`);
  if (/no storage class is set|no persistent volumes available/.test(message)) {
    const named = claim.kind === "found" && claim.object.spec?.storageClassName;
    return {
      because,
      isTransient: true,
      resolvesWhen: "when a PersistentVolume that fits the claim exists",
      fix: named
        ? `create a PersistentVolume that fits the claim: ${describe}`
        : "set spec.storageClassName in a new claim, make a StorageClass the default, or create a PersistentVolume: kubectl get storageclasses",
    };
  }
  if (reason === "ExternalProvisioning" || reason === "Provisioning") {
    const [, provisioner] = /provisioner ['"]([^'"]+)['"]/.exec(message) ?? [];
    return {
      because,
      isTransient: true,
      resolvesWhen: "when its provisioner has created the volume",
      fix: `if this persists, check that the provisioner${provisioner ? ` ${provisioner}` : ""} is running: ${describe}`,
    };
  }
  return {
    because,
    isTransient: true,
    resolvesWhen: "when its provisioner succeeds; it retries",
    fix: `check the claim and its StorageClass: ${describe}`,
  };
}

/** A pod with spec.nodeName is never scheduled, and such a claim is bound only by the scheduler. */
function bypassesScheduler({ spec }: Pod, { events, claim }: KnownClaim): boolean {
  const isWaiting = lastEvent({ events }, "WaitForFirstConsumer", "WaitForPodScheduled") !== undefined;
  const isChosen =
    claim.kind === "found" && claim.object.metadata.annotations?.["volume.kubernetes.io/selected-node"];
  return isWaiting && !isChosen && spec?.nodeName !== undefined;
}

function unscheduledConsumer(name: string): ClaimProblem {
  return {
    because: `The claim "${name}" is bound when a pod that uses it is scheduled (WaitForFirstConsumer), but spec.nodeName of this pod bypasses the scheduler.`,
    isTransient: false,
    fix: "use spec.nodeSelector with kubernetes.io/hostname instead of spec.nodeName in a new pod",
  };
}

function awaitedVolume(name: string, volume: string): ClaimProblem {
  return {
    because: `The claim "${name}" names the volume ${volume} and is not bound to it.`,
    isTransient: true,
    resolvesWhen: "when that volume exists and fits the claim",
    fix: `check the volume: kubectl describe pv ${volume}`,
  };
}
