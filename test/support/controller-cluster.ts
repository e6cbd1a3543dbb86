import { afterAll, beforeAll, expect } from "vitest";
import type { KubeObject } from "../../src/api/objects.ts";
import { StatusError } from "../../src/api/status-error.ts";
import type { Client, ObjectTypes, ResourceName } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import type { ControllersOptions } from "../../src/controllers/controller-manager.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { readCredentials, startTestServer, type TestServer } from "./api-server.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { type KubeletNode, startKubeletNode } from "./kubelet-node.ts";
import { createTestControllers, startTestScheduler, type TestControllers } from "./run-controllers.ts";

/** An API server with the controllers and the scheduler; with a node on the simulated runtime where one is wanted. */
export interface ControllerCluster extends TestControllers {
  readonly server: TestServer;
  readonly client: Client;
  readonly kubectl: Kubectl;
  readonly node: KubeletNode;
  readonly simulated: SimulatedRuntime;
  apply(...objects: object[]): Promise<void>;
  find<Name extends ResourceName>(
    resource: Name,
    name: string,
    namespace?: string,
  ): Promise<ObjectTypes[Name] | undefined>;
  untilGone(resource: ResourceName, name: string, namespace?: string): Promise<void>;
}

interface ControllerClusterOptions {
  readonly withNode?: boolean;
  readonly controllers?: Partial<ControllersOptions>;
}

/** Filled before the first test. */
export function useControllerCluster(options: ControllerClusterOptions = {}): ControllerCluster {
  const cluster = {} as { -readonly [Field in keyof ControllerCluster]: ControllerCluster[Field] };
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    const server = await startTestServer();
    closing.push(() => server.close());
    const client = await connectCluster({ kubeconfig: server.kubeconfig });
    closing.push(() => client.close());
    Object.assign(cluster, { server, client, kubectl: createKubectl(server.kubeconfig) });
    if (options.withNode) {
      cluster.simulated = await startSimulatedRuntime({ logger: silentLogger, imagesPresent: true });
      closing.push(() => cluster.simulated.close());
      cluster.node = await startKubeletNode({ cri: cluster.simulated.client, server });
      closing.push(() => cluster.node.close());
      closing.push(await startTestScheduler(server.kubeconfig));
    }
    const rootCa = (await readCredentials(server.kubeconfig)).ca.toString();
    Object.assign(cluster, createTestControllers(server.kubeconfig, { rootCa, ...options.controllers }));
    await cluster.startControllers();
    closing.push(() => cluster.stopControllers());
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  cluster.apply = async (...objects) => {
    await cluster.kubectl.ok("apply -f -", {
      input: JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    });
  };
  cluster.find = async (resource, name, namespace = "default") => {
    try {
      return await cluster.client.get(resource, { namespace, name });
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  };
  cluster.untilGone = async (resource, name, namespace) => {
    const metadataOf = async () => (await cluster.find(resource, name, namespace))?.metadata;
    await expect.poll(metadataOf, { interval: 20 }).toBeUndefined();
  };
  return cluster;
}

/** A small object of the core API that holds nothing. */
export function configMap(name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name, ...metadata } };
}
