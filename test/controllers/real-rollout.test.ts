import { expect, test } from "vitest";
import { useRealCluster, webImage, webOf } from "../support/real-cluster.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { describeWithTool } from "../support/tools.ts";

const kinds = ["statefulset", "deployment"] as const;

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
      await cluster.apply(webOf(kind, name, { replicas: 2 }));
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

    test("scale: ordinals come and go one after the other, a Deployment's pods as they may", async () => {
      const { kubectl } = cluster;
      await cluster.apply(webOf("statefulset", "size", { replicas: 1 }));
      await cluster.apply(webOf("deployment", "many", { replicas: 1 }));
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
        ...["size-2 going", "-size-2", "size-1 going", "-size-1"],
      ]);
      await expect.poll(() => kubectl.ok("logs -l app=size")).toBe("+1\n");
      await expect.poll(() => kubectl.ok("logs -l app=many")).toBe("+1\n");
      await kubectl.ok("delete statefulset/size deployment/many");
    });

    test.each(kinds)(
      "%s: delete leaves pods to be adopted, waits for them, or does not, as told",
      async (kind) => {
        const { kubectl } = cluster;
        const workload = `${kind}/owned`;
        const manifest = webOf(kind, "owned", { replicas: 2 });
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
        // Whoever is gone in the foreground is the last to go.
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
