import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type HandmadePod, type KubeletBench, startKubeletBench } from "../../support/node/kubelet-pod.ts";
import { describeWithTool } from "../../support/programs/tools.ts";
import type { ApiClient } from "../../support/servers/api-server.ts";

describeWithTool("busybox", "/containerLogs", () => {
  let bench: KubeletBench;
  let admin: ApiClient;
  let pod: HandmadePod;
  const script = 'echo first; echo second >&2; i=0; while read line; do i=$((i+1)); echo "$i $line"; done';

  beforeAll(async () => {
    bench = await startKubeletBench();
    admin = bench.kubelet.as("admin", "system:masters");
    pod = await bench.makePod("talker", {
      web: { command: ["sh", "-c", script], stdin: true },
      other: { command: ["sh", "-c", "echo other; exec sleep 1000"] },
    });
    await vi.waitFor(async () => expect(await read()).toHaveLength("first\nsecond\n".length), 60_000);
    await vi.waitFor(async () => expect(await read("", "other")).toBe("other\n"), 60_000);
  });
  afterAll(() => bench?.close());

  const path = (query = "", container = "web", name = "talker") =>
    `/containerLogs/default/${name}/${container}${query}`;
  const read = async (query = "", container = "web") =>
    (await admin.call("GET", path(query, container))).text;
  const refusal = async (query = "", container = "web", name = "talker") => {
    const { status, text } = await admin.call("GET", path(query, container, name));
    return { status, text };
  };

  /** Writes a line to the container's log, as its runtime would. */
  const say = (text: string, file = pod.logPath("web")) =>
    writeFileSync(file, `${new Date().toISOString()} stdout F ${text}\n`, { flag: "a" });

  /** Reads chunks as they arrive, after it is started. */
  function follow(query: string, { paused = false, name = "talker" } = {}) {
    const { cert, key } = bench.kubelet.pki.admin;
    const seen = { text: "", status: 0, ended: false };
    let resume = () => {};
    const request = get(
      new URL(path(query, "web", name), bench.kubelet.url),
      { cert, key, rejectUnauthorized: false, agent: false },
      (response) => {
        seen.status = response.statusCode ?? 0;
        response.on("end", () => {
          seen.ended = true;
        });
        response.on("error", () => {});
        resume = () => {
          response.on("data", (chunk) => {
            seen.text += chunk;
          });
        };
        if (!paused) resume();
      },
    );
    request.on("error", () => {});
    return { seen, stop: () => request.destroy(), resume: () => resume() };
  }

  test("all lines, the last lines, with timestamps, a number of bytes", async () => {
    expect((await read()).split("\n").sort()).toEqual(["", "first", "second"]);
    expect(await read("?tailLines=1")).toMatch(/^(first|second)\n$/);
    expect(await read("?tailLines=0")).toBe("");
    expect(await read("?timestamps=true&tailLines=1")).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\S+ \w+\n$/,
    );
    expect(await read("?limitBytes=3")).toHaveLength(3);
    expect(await read("?stream=Stderr")).toBe("second\n");
    expect(await read("", "other")).toBe("other\n");
  });

  test("sinceTime and sinceSeconds exclude older lines", async () => {
    expect(await read("?sinceSeconds=3600")).toContain("first\n");
    expect(await read(`?sinceTime=${new Date(Date.now() + 3_600_000).toISOString()}`)).toBe("");
  });

  test("following continues after a rotation by the runtime and ends with the container", async () => {
    // Writes lines until SIGTERM, then writes how many there were.
    const script = "i=0; until [ -e /enough ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo $i lines";
    const talker = await bench.makePod("rotated", { web: { command: ["sh", "-c", script] } });
    const containerId = talker.containerId("web");
    const { seen, stop } = follow("?follow=true", { name: "rotated" });
    const untilMore = async () => {
      const { length } = seen.text;
      await expect.poll(() => seen.text.length).toBeGreaterThan(length);
    };
    for (let rotation = 0; rotation < 3; rotation++) {
      await untilMore();
      renameSync(talker.logPath("web"), `${talker.logPath("web")}.${rotation}`);
      await bench.runtime.client.runtime.reopenContainerLog({ containerId });
    }
    await untilMore();
    await bench.runtime.client.runtime.execSync({ containerId, cmd: ["touch", "/enough"], timeout: 60n });
    await expect.poll(() => seen.ended).toBe(true);
    stop();
    const lines = seen.text.trimEnd().split("\n");
    const count = lines.length - 1;
    expect(lines).toEqual([...Array.from({ length: count }, (_, i) => `line ${i + 1}`), `${count} lines`]);
  });

  test("a follower gets each line as it is written, and leaves no open file when it disconnects", async () => {
    const { seen, stop } = follow("?follow=true&tailLines=0");
    await expect.poll(() => seen.status).toBe(200);
    say("hello");
    await expect.poll(() => seen.text).toBe("hello\n");
    stop();
  });

  test("a reader that does not read delays no other request", async () => {
    const line = "x".repeat(16_000);
    for (let i = 0; i < 1_500; i++) say(line);
    const { seen, stop, resume } = follow("", { paused: true });
    await expect.poll(() => seen.status).toBe(200);
    expect(await read("?tailLines=1")).toBe(`${line}\n`);
    expect(seen.ended).toBe(false);
    resume();
    await expect.poll(() => seen.ended).toBe(true);
    expect(seen.text.length).toBeGreaterThan(1_500 * 16_000);
    stop();
  });

  test("the log of the previous container", async () => {
    expect(await refusal("?previous=true")).toEqual({
      status: 400,
      text: 'previous terminated container "web" in pod "talker" not found',
    });
    const again = await bench.makePod("restarted", {
      web: { command: ["sh", "-c", "echo I am $$; exec sleep 999"] },
    });
    await expect.poll(() => refusal("", "web", "restarted")).toMatchObject({ status: 200, text: /I am/ });
    writeFileSync(again.logPath("web"), "2026-01-01T00:00:00Z stdout F from the first\n", { flag: "a" });
    await again.restart("web");
    expect((await refusal("?previous=true", "web", "restarted")).text).toContain("from the first\n");
    expect((await refusal("", "web", "restarted")).text).not.toContain("from the first\n");
  });

  describe("is refused", () => {
    test("for missing pods and containers, with upstream's messages", async () => {
      expect(await refusal("", "web", "nobody")).toEqual({
        status: 404,
        text: 'pod "nobody" does not exist',
      });
      expect(await refusal("", "nothing")).toEqual({
        status: 404,
        text: 'container "nothing" not found in pod "talker"',
      });
      expect(await refusal("?tailLines=x")).toEqual({
        status: 400,
        text: '{"message": "Unable to decode query."}',
      });
      expect(await refusal("?limitBytes=0")).toEqual({
        status: 422,
        text: '{"message": "Invalid request."}',
      });
      const post = await admin.call("POST", path());
      expect({ status: post.status, text: post.text, allow: post.headers.allow }).toEqual({
        status: 405,
        text: "Method Not Allowed",
        allow: "GET",
      });
    });

    test("while a container waits, and after the runtime removed it", async () => {
      const early = await bench.makePod("early", { web: { command: ["sleep", "1000"] } });
      early.setState("web", { state: { waiting: { reason: "ContainerCreating" } }, containerID: undefined });
      expect(await refusal("", "web", "early")).toEqual({
        status: 400,
        text: 'container "web" in pod "early" is waiting to start: ContainerCreating',
      });
      early.setState("web", { state: { terminated: { exitCode: 0, containerID: "kindling://forgotten" } } });
      expect(await refusal("", "web", "early")).toEqual({
        status: 400,
        text: "unable to retrieve container logs for kindling://forgotten",
      });
    });

    test("when the log was replaced by a link, before or while it is read", async () => {
      const sly = await bench.makePod("sly", { web: { command: ["sleep", "1000"] } });
      const file = sly.logPath("web");
      say("mine", file);
      const secret = `${bench.runtime.directory}/secret.log`;
      say("secret", secret);
      const { seen, stop } = follow("?follow=true", { name: "sly" });
      await expect.poll(() => seen.text).toBe("mine\n");
      rmSync(file);
      symlinkSync(secret, file);
      expect(await refusal("", "web", "sly")).toMatchObject({ status: 400, text: /failed to open log file/ });
      rmSync(dirname(file), { recursive: true });
      symlinkSync(dirname(secret), dirname(file));
      mkdirSync(`${bench.runtime.directory}/web`, { recursive: true });
      writeFileSync(`${bench.runtime.directory}/0.log`, "2026-01-01T00:00:00Z stdout F secret\n");
      expect(await refusal("", "web", "sly")).toMatchObject({ status: 400, text: /failed to open log file/ });
      // The follower has searched for the next file by now.
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      stop();
      expect(seen.text).toBe("mine\n");
    });
  });
});
