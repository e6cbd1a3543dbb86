import { expect, test } from "vitest";
import { useRealCluster, webDeployment, webImage, webStatefulSet } from "../support/cluster/real-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const kinds = ["statefulset", "deployment"] as const;
const makeWeb = { statefulset: webStatefulSet, deployment: webDeployment };

describeWithTool("kubectl", "kubectl on workloads in kindling up", () => {
  describeWithTool("busybox", "with real containers", () => {
    const cluster = useRealCluster(temporaryFolder());

    const rolledOut = (workload: string) => cluster.kubectl.ok(`rollout status ${workload} --timeout=100s`);
    /** Which pods there are, and which containers run in them. */
    const identities = async (app: string) =>
      (await cluster.pods(app))
        .map(({ metadata, status }) => `${metadata.uid} ${status?.containerStatuses?.[0]?.containerID}`)
        .sort();

    test.each(kinds)("%s: rollout status, history and undo", async (kind) => {
      const { kubectl } = cluster;
      const name = `web-${kind}`;
      const web = `${kind}/${name}`;
      const complete = /roll out complete: 2 new pods|rolling update complete 2 pods|successfully rolled out/;
      // Pods of the last revision may still be ending.
      const says = (text: string) => expect.poll(() => kubectl.ok(`logs -l app=${name}`)).toBe(text);
      await cluster.apply(makeWeb[kind](name, { replicas: 2 }));
      expect(await rolledOut(web)).toMatch(complete);
      await says("+1\n+1\n");
      await kubectl.ok(`set image ${web} c=${webImage(2)}`);
      expect(await rolledOut(web)).toMatch(complete);
      await says("+2\n+2\n");
      expect(await kubectl.ok(`rollout history ${web}`)).toMatch(/REVISION.*\n1 .*\n2 /);
      expect(await kubectl.ok(`rollout history ${web} --revision=1`)).toContain(webImage(1));
      await kubectl.ok(`rollout undo ${web}`);
      await rolledOut(web);
      await says("+1\n+1\n");
      expect(await kubectl.ok(`rollout history ${web}`)).toMatch(/REVISION.*\n2 .*\n3 /);
      await kubectl.ok(`delete ${web} --timeout=100s`);
    });

    test("scale: a StatefulSet adds and removes ordinals one at a time, a Deployment in any order", async () => {
      const { kubectl } = cluster;
      await cluster.apply(webStatefulSet("size", { replicas: 1 }));
      await cluster.apply(webDeployment("many", { replicas: 1 }));
      await rolledOut("statefulset/size");
      await rolledOut("deployment/many");
      const log = await cluster.follow("size");
      await kubectl.ok("scale statefulset/size deployment/many --replicas=3");
      await log.until("size-2 ready");
      await rolledOut("deployment/many");
      await kubectl.ok("scale statefulset/size deployment/many --replicas=1");
      await log.until("-size-1");
      await log.stop();
      expect(log.lines).toEqual([
        ...["+size-1", "size-1 ready", "+size-2", "size-2 ready"],
        ...["size-2 terminating", "-size-2", "size-1 terminating", "-size-1"],
      ]);
      await expect.poll(() => kubectl.ok("logs -l app=size")).toBe("+1\n");
      await expect.poll(() => kubectl.ok("logs -l app=many")).toBe("+1\n");
      await kubectl.ok("delete statefulset/size deployment/many");
    });

    test.each(kinds)(
      "%s: delete orphans pods for adoption, waits for them, or does not, depending on --cascade",
      async (kind) => {
        const { kubectl } = cluster;
        const workload = `${kind}/owned`;
        const manifest = makeWeb[kind]("owned", { replicas: 2 });
        await cluster.apply(manifest);
        await rolledOut(workload);
        const before = await identities("owned");

        await kubectl.ok(`delete ${workload} --cascade=orphan --timeout=100s`);
        if (kind === "deployment") {
          expect(await kubectl.ok("get replicasets -l app=owned -o name")).toMatch(/^replicaset\S+\n$/);
        } else {
          const owners = (await cluster.pods("owned")).map(({ metadata }) => metadata.ownerReferences);
          expect(owners).toEqual([undefined, undefined]);
        }
        expect(await identities("owned")).toEqual(before);
        await cluster.apply(manifest);
        await rolledOut(workload);
        expect(await identities("owned")).toEqual(before);

        await kubectl.ok(`delete ${workload} --cascade=foreground --timeout=100s`);
        // With foreground deletion the owner is deleted last.
        expect(await kubectl.ok("get pods,replicasets -l app=owned -o name")).toBe("");

        await cluster.apply(manifest);
        await rolledOut(workload);
        const log = await cluster.follow("owned");
        await kubectl.ok(`delete ${workload} --cascade=background --timeout=100s`);
        await kubectl.ok("wait --for=delete pods -l app=owned --timeout=100s");
        await log.stop();
        expect(log.lines.filter((line) => line.startsWith("-"))).toHaveLength(2);
      },
    );
  });
});
