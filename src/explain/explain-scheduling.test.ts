import { describe, test } from "vitest";
import type { PersistentVolumeClaim } from "../api/meta/objects.ts";
import { condition, expectExplained, type Given } from "./explain-pod.fixture.ts";
import type { PodFacts } from "./explanation.ts";

const unbound = condition("PodScheduled", "False", {
  reason: "Unschedulable",
  message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
});

type KnownClaim = NonNullable<PodFacts["claims"]>[number];

const claim = (
  spec: NonNullable<PersistentVolumeClaim["spec"]>,
  event?: { readonly reason: string; readonly message: string },
): KnownClaim => ({
  name: "data",
  claim: {
    kind: "found",
    object: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data", namespace: "shop" },
      spec: { storageClassName: "fast", ...spec },
      status: { phase: "Pending" },
    },
  },
  events: event ? [{ apiVersion: "v1", kind: "Event", metadata: {}, involvedObject: {}, ...event }] : [],
});

describe("a pod without a node", () => {
  test.each<Given>([
    {
      name: "no scheduler has processed it",
      nodeName: "",
      stage: "scheduling",
      since: "00:00",
      because: /No scheduler has processed the pod yet; it is assigned to default-scheduler/,
      transient: true,
      fix: /spec\.schedulerName/,
    },
    {
      name: "no node has enough resources",
      nodeName: "",
      status: {
        conditions: [
          condition("PodScheduled", "False", {
            reason: "Unschedulable",
            message:
              "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1.",
          }),
        ],
      },
      stage: "scheduling",
      since: "00:10",
      because: /^0\/1 nodes are available: 1 Insufficient cpu\.$/,
      transient: true,
      fix: /lower resources\.requests/,
    },
    {
      name: "each of several reasons has its fix",
      nodeName: "",
      status: {
        conditions: [
          condition("PodScheduled", "False", {
            reason: "Unschedulable",
            message:
              "0/5 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 node(s) had untolerated taint {dedicated: db}, 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling.",
          }),
        ],
      },
      stage: "scheduling",
      because: /^0\/5 nodes are available: .*affinity\/selector\.$/,
      transient: true,
      resolvesWhen:
        "when other pods are deleted or a node with enough resources joins, or the node is ready again, or the taint is removed or another node joins, or a node has these labels",
      fix: /^lower resources\.requests\.cpu and resources\.requests\.example\.com\/gpu .*\nfind out why the node is not ready: .*\ntolerate the taint .*: kubectl taint nodes NODE dedicated-\ncompare spec\.nodeSelector/,
    },
    {
      name: "its claim waits for its provisioner",
      nodeName: "",
      status: { conditions: [unbound] },
      claims: [
        claim(
          {},
          {
            reason: "ExternalProvisioning",
            message:
              "Waiting for a volume to be created either by the external provisioner 'ebs.csi' or manually",
          },
        ),
      ],
      stage: "scheduling",
      because: /unbound immediate.*\. The claim "data" is not bound: Waiting for a volume/,
      transient: true,
      fix: /^if this persists, check that the provisioner ebs\.csi is running: kubectl describe pvc data -n shop\ncheck its claims/,
    },
    {
      name: "its claim cannot be provisioned",
      nodeName: "",
      status: { conditions: [unbound] },
      claims: [claim({}, { reason: "ProvisioningFailed", message: "quota exceeded" })],
      stage: "scheduling",
      because: /The claim "data" is not bound: quota exceeded\.$/,
      transient: true,
      fix: /kubectl describe pvc data -n shop/,
    },
    {
      name: "its claim has no StorageClass",
      nodeName: "",
      status: { conditions: [unbound] },
      claims: [
        claim(
          { storageClassName: undefined },
          {
            reason: "FailedBinding",
            message: "no persistent volumes available for this claim and no storage class is set",
          },
        ),
      ],
      stage: "scheduling",
      because: /no storage class is set\.$/,
      transient: true,
      fix: /make a StorageClass the default/,
    },
    {
      name: "its claim uses a StorageClass that does not exist",
      nodeName: "",
      status: { conditions: [unbound] },
      claims: [{ ...claim({}), classExists: false }],
      stage: "scheduling",
      because: /^The claim "data" uses the StorageClass "fast", which does not exist\.$/,
      transient: false,
      fix: /create the StorageClass fast, .*kubectl get storageclasses/,
    },
    {
      name: "a claim that waits for the scheduler is not the problem",
      nodeName: "",
      status: {
        conditions: [
          condition("PodScheduled", "False", { message: "0/1 nodes are available: 1 Too many pods." }),
        ],
      },
      claims: [claim({}, { reason: "WaitForFirstConsumer", message: "waiting for first consumer" })],
      stage: "scheduling",
      because: /^0\/1 nodes are available: 1 Too many pods\.$/,
      transient: true,
      fix: /^delete other pods, or add a node/,
    },
    {
      name: "a pod with spec.nodeName waits for a claim that only the scheduler binds",
      status: { conditions: [condition("PodScheduled", "True")] },
      claims: [claim({}, { reason: "WaitForFirstConsumer", message: "waiting for first consumer" })],
      stage: "volumes",
      because: /spec\.nodeName of this pod bypasses the scheduler/,
      transient: false,
      fix: /spec\.nodeSelector/,
    },
    {
      name: "its claim is being deleted",
      nodeName: "",
      status: { conditions: [unbound] },
      claims: [
        {
          ...claim({}),
          claim: {
            kind: "found",
            object: {
              apiVersion: "v1",
              kind: "PersistentVolumeClaim",
              metadata: {
                name: "data",
                namespace: "shop",
                deletionTimestamp: "2026-01-01T00:00:10Z",
                finalizers: ["kubernetes.io/pvc-protection"],
              },
            },
          },
        },
      ],
      stage: "scheduling",
      because: /"data" is being deleted \(finalizers: kubernetes\.io\/pvc-protection\)/,
      transient: false,
      fix: /kubectl describe pvc data -n shop/,
    },
    {
      name: "its claim is missing",
      nodeName: "",
      status: {
        conditions: [
          condition("PodScheduled", "False", {
            reason: "Unschedulable",
            message: '0/1 nodes are available: persistentvolumeclaim "data" not found. not found',
          }),
        ],
      },
      stage: "scheduling",
      because: /mounts the claim "data", which does not exist/,
      transient: false,
      fix: /kubectl get pvc -n shop/,
    },
    {
      name: "a scheduling gate is set",
      nodeName: "",
      spec: { schedulingGates: [{ name: "example.com/quota" }] },
      status: { conditions: [condition("PodScheduled", "False", { reason: "SchedulingGated" })] },
      stage: "scheduling",
      because: /example\.com\/quota/,
      transient: false,
      fix: /spec\.schedulingGates/,
    },
  ])("$name", expectExplained);
});
