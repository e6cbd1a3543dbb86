import { beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import { describeKubectl, type KubectlCluster } from "../../support/kubectl/describe-kubectl.ts";

interface Workload extends KubeObject {
  spec: { replicas: number; template: object };
}

describeKubectl("kubectl rollout", (cluster) => {
  describe("of a deployment", () => {
    beforeAll(async () => {
      await cluster.ok("create deployment web --image=nginx:1");
      await playDeploymentController(cluster, { revision: "1", done: true });
      await cluster.ok("set image deployment/web nginx=nginx:2");
      await cluster.ok(["annotate", "deployment/web", "kubernetes.io/change-cause=the second image"]);
    });

    test("status waits for the controller", async () => {
      const waiting = cluster.follow("rollout status deployment/web");
      await waiting.until(/Waiting for deployment spec update to be observed/);
      await playDeploymentController(cluster, { revision: "2", done: false });
      await waiting.until(/0 out of 1 new replicas have been updated/);
      await playDeploymentController(cluster, { revision: "2", done: true });
      await waiting.until(/deployment "web" successfully rolled out/);
      await waiting.stop();
      expect(await cluster.ok("rollout status deployment/web")).toBe(
        'deployment "web" successfully rolled out\n',
      );
    });

    test("history lists the revisions, with their causes", async () => {
      expect(await cluster.ok("rollout history deployment/web")).toMatch(
        /^deployment.apps\/web \nREVISION +CHANGE-CAUSE\n1 +<none>\n2 +the second image\n/,
      );
      expect(await cluster.ok("rollout history deployment/web --revision=1")).toMatch(/Image:\s+nginx:1\n/);
    });

    test("undo goes back to a revision", async () => {
      expect(await cluster.ok("rollout undo deployment/web --to-revision=1")).toBe(
        "deployment.apps/web rolled back\n",
      );
      expect(
        await cluster.ok("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}"),
      ).toBe("nginx:1");
      expect(await cluster.fails("rollout undo deployment/web --to-revision=9")).toContain(
        "unable to find specified revision 9 in history",
      );
    });

    test("pause, resume and restart", async () => {
      expect(await cluster.ok("rollout pause deployment/web")).toBe("deployment.apps/web paused\n");
      expect(await cluster.fails("rollout restart deployment/web")).toContain(
        "can't restart paused deployment",
      );
      expect(await cluster.ok("rollout resume deployment/web")).toBe("deployment.apps/web resumed\n");
      expect(await cluster.ok("rollout restart deployment/web")).toBe("deployment.apps/web restarted\n");
      const annotations = await cluster.ok(
        "get deployment web -o jsonpath={.spec.template.metadata.annotations}",
      );
      expect(annotations).toMatch(/kubectl.kubernetes.io\/restartedAt":"\d{4}-/);
    });
  });

  describe("of a stateful set", () => {
    const revisions = "controllerrevisions";

    beforeAll(async () => {
      const labels = { app: "db" };
      await cluster.apply({
        apiVersion: "apps/v1",
        kind: "StatefulSet",
        metadata: { name: "db" },
        spec: {
          serviceName: "db",
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "db:2" }] } },
        },
      });
      const owner = await statefulSet();
      for (const revision of [1, 2]) {
        await cluster.server.json("POST", cluster.path("apps/v1", revisions), {
          metadata: {
            name: `db-${revision}`,
            labels,
            ownerReferences: [
              {
                apiVersion: "apps/v1",
                kind: "StatefulSet",
                name: "db",
                uid: owner.metadata.uid,
                controller: true,
              },
            ],
          },
          revision,
          // What the controller keeps is a patch that brings its template back.
          data: {
            spec: {
              template: {
                $patch: "replace",
                metadata: { labels },
                spec: { containers: [{ name: "main", image: `db:${revision}` }] },
              },
            },
          },
        });
      }
    });

    const statefulSet = () =>
      cluster.server.json<Workload>("GET", cluster.path("apps/v1", "statefulsets/db"));

    async function report(updatedReplicas: number): Promise<void> {
      const current = await statefulSet();
      await cluster.server.json("PUT", cluster.path("apps/v1", "statefulsets/db/status"), {
        ...current,
        status: {
          observedGeneration: current.metadata.generation,
          replicas: 2,
          readyReplicas: 2,
          availableReplicas: 2,
          updatedReplicas,
          currentRevision: updatedReplicas === 2 ? "db-2" : "db-1",
          updateRevision: "db-2",
        },
      });
    }

    test("status counts the pods of the new revision", async () => {
      await report(1);
      const waiting = cluster.follow("rollout status statefulset/db");
      await waiting.until(/roll out to finish: 1 out of 2 new pods have been updated/);
      await report(2);
      await waiting.until(/roll out complete: 2 new pods have been updated/);
      await waiting.stop();
      expect(await cluster.ok("rollout status statefulset/db")).toContain("roll out complete");
    });

    test("history and undo go by the controller revisions", async () => {
      expect(await cluster.ok("rollout history statefulset/db")).toMatch(
        /^statefulset.apps\/db \nREVISION +CHANGE-CAUSE\n1 +<none>\n2 +<none>\n/,
      );
      expect(await cluster.ok("rollout history statefulset/db --revision=1")).toMatch(/Image:\s+db:1\n/);
      expect(await cluster.ok("rollout undo statefulset/db --to-revision=1")).toBe(
        "statefulset.apps/db rolled back\n",
      );
      expect(
        await cluster.ok("get statefulset db -o jsonpath={.spec.template.spec.containers[0].image}"),
      ).toBe("db:1");
    });

    test("restart", async () => {
      expect(await cluster.ok("rollout restart statefulset/db")).toBe("statefulset.apps/db restarted\n");
    });
  });
});

/** The ReplicaSet of the current template and the status, as the deployment controller writes them. */
async function playDeploymentController(
  cluster: KubectlCluster,
  { revision, done }: { revision: string; done: boolean },
): Promise<void> {
  const { server } = cluster;
  const path = cluster.path("apps/v1", "deployments/web");
  const annotation = { "deployment.kubernetes.io/revision": revision };
  const before = await server.json<Workload>("GET", path);
  const current = await server.json<Workload>("PUT", path, {
    ...before,
    metadata: { ...before.metadata, annotations: { ...before.metadata.annotations, ...annotation } },
  });
  const replicaSet = {
    metadata: {
      name: `web-${revision}`,
      labels: { app: "web" },
      annotations: { ...current.metadata.annotations, ...annotation },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          name: "web",
          uid: current.metadata.uid,
          controller: true,
        },
      ],
    },
    spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template: current.spec.template },
  };
  // It may be there from an earlier step.
  await server.call("POST", cluster.path("apps/v1", "replicasets"), { body: replicaSet });
  await server.json("PUT", `${path}/status`, {
    ...current,
    status: {
      observedGeneration: current.metadata.generation,
      replicas: 1,
      updatedReplicas: done ? 1 : 0,
      readyReplicas: 1,
      availableReplicas: 1,
      conditions: [
        { type: "Available", status: "True", reason: "MinimumReplicasAvailable" },
        { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" },
      ],
    },
  });
}
