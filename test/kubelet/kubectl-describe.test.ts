import { beforeAll, describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import {
  createKubectl,
  describeEachKubectl,
  type Kubectl,
  type KubectlTool,
} from "../support/kubectl/kubectl.ts";
import { isReady, useSimulatedNode } from "../support/node/simulated-node.ts";

const host = useSimulatedNode();

describe("kubectl describe", () => describeEachKubectl(suite));

function suite(tool: KubectlTool): void {
  let kubectl: Kubectl;
  beforeAll(() => {
    kubectl = createKubectl(host.node.server.kubeconfig, tool);
  });
  /** Words are set in columns: what is between them does not count. */
  const describePod = async (name: string) =>
    (await kubectl.ok(`describe pod ${name}`)).replaceAll(/[^\S\n]+/g, " ");

  test("a pod that runs", async () => {
    const name = `well-${tool}`;
    await host.node.run(name, {
      containers: [
        {
          name: "c",
          image: "web:1",
          resources: { requests: { cpu: "100m" } },
          volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
        },
      ],
      volumes: [{ name: "scratch", emptyDir: {} }],
    });
    const pod = await host.node.until(name, isReady);
    await host.node.untilEvent(name, /^Container started/);
    const text = await describePod(name);
    for (const part of [
      `\nNode: node-1/${pod.status?.hostIP}\n`,
      "\nStatus: Running\n",
      `\nIP: ${pod.status?.podIP}\n`,
      `\n Container ID: ${pod.status?.containerStatuses?.[0]?.containerID}\n`,
      "\n State: Running\n",
      "\n Ready: True\n Restart Count: 0\n",
      "\n /scratch from scratch (rw)\n",
      "\n PodReadyToStartContainers True",
      "\n FailingToStart False",
      "\nQoS Class: Burstable\n",
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/\n Normal Pulled \S+ kubelet .*Container image "web:1" already present on machine/);
    expect(text).toMatch(/\n Normal Created \S+ kubelet .*\n Normal Started \S+ kubelet /);
  });

  test("a pod that does not start shows the reason in its containers, conditions and events", async () => {
    const name = `ill-${tool}`;
    const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "nowhere", key: "x" } } }];
    await host.node.run(name, { containers: [{ name: "c", image: "web:1", env }] });
    await host.node.until(name, (pod) => conditionOf(pod, "FailingToStart")?.status === "True");
    await host.node.untilEvent(name, /^Error: configmap "nowhere" not found/);
    const text = await describePod(name);
    expect(text).toContain("\nStatus: Pending\n");
    expect(text).toContain("\n State: Waiting\n Reason: CreateContainerConfigError\n Ready: False\n");
    expect(text).toMatch(/\n FailingToStart True/);
    expect(text).toMatch(
      /\n Warning Failed \S+ (\(x\d+ over \S+\) )?kubelet .*Error: configmap "nowhere" not found/,
    );
  });

  test("950-3 a failing startup probe is shown with its handler, its last failure and the restart of the container", async () => {
    const name = `slow-${tool}`;
    // Nothing listens on this port.
    const tcpSocket = { host: "127.0.0.1", port: 1 };
    // Longer than the refusal takes on a machine that is held up.
    const startupProbe = { tcpSocket, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 2 };
    await host.node.run(name, { containers: [{ name: "c", image: "web:1", startupProbe }] });
    await host.node.untilEvent(name, /failed startup probe/);
    const text = await describePod(name);
    expect(text).toContain(
      "\n Startup: tcp-socket 127.0.0.1:1 delay=0s timeout=30s period=1s #success=1 #failure=2\n",
    );
    expect(text).toMatch(
      /\n Warning Unhealthy \S+ (\(x\d+ over \S+\) )?kubelet .*Startup probe failed: dial tcp 127\.0\.0\.1:1: connect: connection refused\n/,
    );
    expect(text).toMatch(
      /\n Normal Killing \S+ (\(x\d+ over \S+\) )?kubelet .*Container c failed startup probe, will be restarted/,
    );
  });
}
