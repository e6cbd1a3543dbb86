import { expect, test } from "vitest";
import type { StatefulSet } from "../../src/api/meta/objects.ts";
import { useRealCluster, webDeployment, webImage, webStatefulSet } from "../support/cluster/real-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const enforced = { updateStrategy: { type: "EnforcedRollingUpdate" } };

describeWithTool("kubectl", "StatefulSets with claims in kindling up", () => {
  describeWithTool("busybox", "with real containers", () => {
    const cluster = useRealCluster(temporaryFolder());

    const all = (name: string, version: number, replicas = 2) =>
      Array.from({ length: replicas }, (_, ordinal) => `${name}-${ordinal}=${webImage(version)} ready`);
    const progressing = async (name: string) => {
      const set: StatefulSet = JSON.parse(await cluster.kubectl.ok(`get statefulset ${name} -o json`));
      return set.status?.conditions?.find(({ type }) => type === "Progressing");
    };
    /** Starts and ends of all containers that ever had the claim of these pods. One that is ready has said nothing yet. */
    const untilJournals = async (pods: readonly string[], ...lines: string[]) => {
      for (const pod of pods)
        await expect
          .poll(() => cluster.kubectl.ok(`exec ${pod} -- cat /data/journal`))
          .toBe(lines.map((line) => `${line}\n`).join(""));
    };

    test("3541-3 a command that cannot start: RollingUpdate stays stuck after an undo, EnforcedRollingUpdate recovers", async () => {
      const { kubectl } = cluster;
      await cluster.apply(webStatefulSet("cmd", { replicas: 2, claims: true }));
      await kubectl.ok("rollout status statefulset/cmd --timeout=100s");
      await untilJournals(["cmd-0", "cmd-1"], "+1");
      const log = await cluster.follow("cmd");
      const container = { name: "c", command: ["/no/such/program"] };
      const broken = JSON.stringify({ spec: { template: { spec: { containers: [container] } } } });
      await kubectl.ok(["patch", "statefulset", "cmd", "-p", broken]);
      await kubectl.ok("wait statefulset/cmd --for=condition=Progressing=false --timeout=100s");
      const message = async () => (await progressing("cmd"))?.message;
      await expect.poll(message).toMatch(/^pod cmd-1 blocks the rollout: .*\/no\/such\/program/);

      await kubectl.ok("rollout undo statefulset/cmd");
      await expect.poll(message).toContain("RollingUpdate does not replace it");
      await kubectl.ok(["patch", "statefulset", "cmd", "-p", JSON.stringify({ spec: enforced })]);
      await log.until("cmd-1 ready");
      await kubectl.ok("wait statefulset/cmd --for=condition=RolloutComplete --timeout=100s");
      await log.stop();
      // Those that never left the revision are not touched.
      const replaced = ["cmd-1 terminating", "-cmd-1", "+cmd-1"];
      expect(log.lines).toEqual([...replaced, ...replaced, "cmd-1 ready"]);
      expect(await cluster.picture("cmd")).toEqual(all("cmd", 1));
      await untilJournals(["cmd-1"], "+1", "-1", "+1");
      await untilJournals(["cmd-0"], "+1");
      await kubectl.ok("delete statefulset/cmd --cascade=foreground --timeout=100s");
    });

    test("3541-12 a readiness probe that never passes: kubectl wait sees the exceeded deadline, and the next rollout completes", async () => {
      const { kubectl } = cluster;
      const set = webStatefulSet("due", { replicas: 1, claims: false, ...enforced });
      set.metadata.annotations = { "kindling.dev/progress-deadline-seconds": "5" };
      await cluster.apply(set);
      await kubectl.ok("wait statefulset/due --for=condition=RolloutComplete --timeout=100s");
      const readiness = (command: string) => {
        const container = { name: "c", readinessProbe: { exec: { command: [command] }, periodSeconds: 1 } };
        return JSON.stringify({ spec: { template: { spec: { containers: [container] } } } });
      };
      await kubectl.ok(["patch", "statefulset", "due", "-p", readiness("false")]);
      await kubectl.ok("wait statefulset/due --for=condition=Progressing=False --timeout=100s");
      expect(await progressing("due")).toMatchObject({
        reason: "ProgressDeadlineExceeded",
        message: expect.stringContaining("no progress for 5 s; pod due-0: "),
      });
      await kubectl.ok(["patch", "statefulset", "due", "-p", readiness("true")]);
      await kubectl.ok("wait statefulset/due --for=condition=RolloutComplete --timeout=100s");
      expect((await progressing("due"))?.status).toBe("True");
      await kubectl.ok("delete statefulset/due --cascade=foreground --timeout=100s");
    });

    test("3541-3 3541-4 two missing images, then a valid one: replaced from the largest ordinal down", async () => {
      const { kubectl } = cluster;
      await cluster.apply(webStatefulSet("img", { replicas: 3, claims: true, ...enforced }));
      await cluster.untilPicture("img", all("img", 1, 3));
      await untilJournals(["img-0", "img-1", "img-2"], "+1");
      const log = await cluster.follow("img");
      for (const image of ["Broken:1", "Broken:2"]) {
        await kubectl.ok(`set image statefulset/img c=${image}`);
        const [first = "", second = ""] = all("img", 1, 3);
        await cluster.untilPicture("img", [first, second, `img-2=${image} waiting`]);
        await expect
          .poll(async () => await progressing("img"))
          .toMatchObject({ status: "False", reason: "InvalidImageName" });
      }
      await kubectl.ok(`set image statefulset/img c=${webImage(2)}`);
      await cluster.untilPicture("img", all("img", 2, 3));
      await log.stop();
      const replaced = (name: string) => [`${name} terminating`, `-${name}`, `+${name}`];
      expect(log.lines).toEqual([
        ...replaced("img-2"),
        ...replaced("img-2"),
        ...["img-2", "img-1", "img-0"].flatMap((name) => [...replaced(name), `${name} ready`]),
      ]);
      await untilJournals(["img-0", "img-1", "img-2"], "+1", "-1", "+2");
      await kubectl.ok("delete statefulset/img --cascade=foreground --timeout=100s");
    });

    test("3541-8 up is killed in the middle of rollouts: one container of an identity at a time, its data stays, and they end", async () => {
      const { kubectl } = cluster;
      await cluster.apply(webStatefulSet("kill", { replicas: 2, claims: true, ...enforced }));
      await cluster.apply(webDeployment("side", { replicas: 2 }));
      await cluster.untilPicture("kill", all("kill", 1));
      const journal = ["+1"];
      await untilJournals(["kill-0", "kill-1"], ...journal);
      const kills = [
        { version: 2, when: "kill-1 terminating" },
        { version: 1, when: "+kill-1" },
        { version: 2, when: "-kill-0" },
      ];
      for (const { version, when } of kills) {
        const log = await cluster.follow("kill");
        await kubectl.ok(`set image statefulset/kill deployment/side c=${webImage(version)}`);
        await log.until(when);
        await cluster.killAndStart();
        await log.stop();
        await cluster.untilPicture("kill", all("kill", version));
        await kubectl.ok("rollout status deployment/side --timeout=100s");
        // Each ends before the next one starts.
        journal.push(`-${3 - version}`, `+${version}`);
        await untilJournals(["kill-0", "kill-1"], ...journal);
      }
      const claims = ["kill-0", "kill-1"].map((pod) => `persistentvolumeclaim/data-${pod}\n`);
      expect(await kubectl.ok("get pvc -l app=kill -o name")).toBe(claims.join(""));
    });
  });
});
