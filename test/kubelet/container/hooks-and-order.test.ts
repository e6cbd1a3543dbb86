import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditionOf } from "../../../src/api/meta/object-facts.ts";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { useRecords } from "../../support/node/records.ts";
import { shell, untilTold, useRuntimeNode } from "../../support/node/runtime-node.ts";
import { isReady } from "../../support/node/simulated-node.ts";
import { describeWithTool } from "../../support/programs/tools.ts";

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];

describeWithTool("busybox", "hooks, init containers and sidecars on our runtime", () => {
  const { folder, lines, mount, volume } = useRecords();
  const host = useRuntimeNode({ driver: "host" });

  test("hooks: postStart and preStop run with every kind of handler, preStop before the stop signal", async () => {
    const { node } = host;
    // Signals and requests only reach processes that handle them already.
    const once = (condition: string) => `until ${condition}; do sleep 0.05; done`;
    const say = (word: string, condition = "true") => ({
      exec: { command: ["sh", "-c", `${once(condition)}; echo ${word} >> /records/hooks`] },
    });
    // Longer than the test waits: none ends by its being over.
    const terminationGracePeriodSeconds = 300;
    await node.run("hooks", {
      terminationGracePeriodSeconds,
      containers: [
        shell(
          "trap 'echo TERM >> /records/hooks; exit 0' TERM; touch /listens; while :; do sleep 0.1; done",
          {
            ...mount,
            lifecycle: { postStart: say("postStart", "test -e /listens"), preStop: say("preStop") },
          },
        ),
      ],
      ...volume,
    });
    await node.run("sleepy", {
      terminationGracePeriodSeconds,
      containers: [shell(untilTold, { lifecycle: { preStop: { sleep: { seconds: 2 } } } })],
    });
    // A server that records the hook's request before it responds: only then may the container get its stop signal.
    const answer = [
      "#!/bin/sh",
      'while read -r line; do echo "$line" >> /records/asked; case $line in ??*) ;; *) break ;; esac; done',
      "printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n'",
    ];
    const httpGet = { path: "/bye?from=hook", port: 8_080, httpHeaders: [{ name: "X-Word", value: "ciao" }] };
    const listening = { exec: { command: ["sh", "-c", once("grep -q :1F90 /proc/net/tcp /proc/net/tcp6")] } };
    await node.run("asked", {
      terminationGracePeriodSeconds,
      containers: [
        shell(
          `echo "$ANSWER" > /answer; busybox chmod +x /answer; while :; do nc -l -p 8080 -e /answer; done & trap 'echo TERM >> /records/asked; exit 0' TERM; while :; do sleep 0.1; done`,
          {
            ...mount,
            env: [{ name: "ANSWER", value: answer.join("\n") }],
            lifecycle: { postStart: listening, preStop: { httpGet } },
          },
        ),
      ],
      ...volume,
    });
    const names = ["hooks", "sleepy", "asked"];
    await Promise.all(names.map((name) => node.until(name, isReady)));
    expect(await lines("hooks")).toEqual(["postStart"]);
    const began = Date.now();
    for (const name of names) await node.client.delete("pods", { namespace: "default", name });
    await Promise.all(names.map((name) => node.untilGone(name)));
    const request = (await lines("asked")).map((line) => line.trim());
    expect(request[0]).toBe("GET /bye?from=hook HTTP/1.1");
    expect(request.map((line) => line.toLowerCase())).toContain("x-word: ciao");
    expect(request.at(-1)).toBe("TERM");
    expect(await lines("hooks")).toEqual(["postStart", "preStop", "TERM"]);
    expect(Date.now() - began).toBeGreaterThan(2_000);
  });

  test("hooks: a failed postStart hook stops the container, which is restarted", async () => {
    const { node } = host;
    const postStart = { exec: { command: ["sh", "-c", "echo no database; false"] } };
    await node.run("unhooked", { containers: [shell(untilTold, { lifecycle: { postStart } })] });
    const pod = await node.until("unhooked", (it) => (statusOf(it)?.restartCount ?? 0) > 0);
    expect(isReady(pod)).toBe(false);
    expect((await node.untilEvent("unhooked", /^PostStartHook failed/)).reason).toBe("FailedPostStartHook");
  });

  test("hooks: a postStart hook that a kubelet restart interrupts runs again, and Ready waits for it", async () => {
    const { node } = host;
    const begun = () => lines("cut-off");
    const script = "echo begun >> /records/cut-off; until test -e /records/go; do sleep 0.1; done";
    const postStart = { exec: { command: ["sh", "-c", script] } };
    const history = await node.follow("cut-off");
    await node.run("cut-off", {
      containers: [shell(untilTold, { ...mount, lifecycle: { postStart } })],
      ...volume,
    });
    await expect.poll(begun).toEqual(["begun"]);
    const before = await node.until("cut-off", (pod) => statusOf(pod)?.state?.running !== undefined);
    node.kill();
    await node.start();
    await expect.poll(begun).toEqual(["begun", "begun"]);
    expect(history.versions.filter(isReady)).toEqual([]);
    await writeFile(join(folder, "go"), "");
    const after = await node.until("cut-off", isReady);
    await history.stop();
    expect(statusOf(after)).toMatchObject({ restartCount: 0, containerID: statusOf(before)?.containerID });
    // A container that has exited is not started again.
    node.kill();
    await node.start();
    await node.run("later", { containers: [shell(untilTold)] });
    await node.until("later", isReady);
    expect(await begun()).toEqual(["begun", "begun"]);
  });

  test("init containers and sidecars start in order and stop in reverse order", async () => {
    const { node } = host;
    const once = (name: string) => shell(`echo ${name} >> /records/order`, { name, ...mount });
    // What runs has not said so yet: the next one waits for a hook that sees it.
    const stays = (name: string, more: object = {}) =>
      shell(
        `trap 'echo ${name} down >> /records/order; exit 0' TERM; echo ${name} up >> /records/order; while :; do sleep 0.05; done`,
        {
          ...{ name, ...mount, ...more },
          lifecycle: {
            postStart: {
              exec: {
                command: ["sh", "-c", `until grep -q '${name} up' /records/order; do sleep 0.05; done`],
              },
            },
          },
        },
      );
    await node.run("ordered", {
      terminationGracePeriodSeconds: 20,
      initContainers: [
        once("first"),
        stays("proxy", { restartPolicy: "Always" }),
        once("second"),
        stays("logger", { restartPolicy: "Always" }),
      ],
      containers: [stays("main")],
      ...volume,
    });
    const pod = await node.until("ordered", isReady);
    expect(await lines("order")).toEqual(["first", "proxy up", "second", "logger up", "main up"]);
    expect(pod.status?.initContainerStatuses).toMatchObject([
      { name: "first", ready: true, state: { terminated: { exitCode: 0, reason: "Completed" } } },
      { name: "proxy", ready: true, started: true },
      { name: "second", ready: true },
      { name: "logger", ready: true, started: true },
    ]);
    await node.client.delete("pods", { namespace: "default", name: "ordered" });
    await node.untilGone("ordered");
    expect((await lines("order")).slice(5)).toEqual(["main down", "logger down", "proxy down"]);
  });

  test("a failed init container is retried, or fails the pod with restartPolicy Never", async () => {
    const { node } = host;
    const failing = shell("exit 4", { name: "setup" });
    const spec = { initContainers: [failing], containers: [shell(untilTold)] };
    await node.run("setup-again", spec);
    await node.run("setup-never", { ...spec, restartPolicy: "Never" });
    const ended = await node.until("setup-never", (pod) => pod.status?.phase === "Failed");
    expect(ended.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
    expect(statusOf(ended)?.state?.waiting?.reason).toBe("PodInitializing");
    const again = await node.until(
      "setup-again",
      (pod) => (pod.status?.initContainerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    expect(again.status?.phase).toBe("Pending");
    expect(conditionOf(again, "Initialized")).toMatchObject({
      status: "False",
      reason: "ContainersNotInitialized",
    });
  });
});
