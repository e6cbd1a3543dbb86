import { expect, test } from "vitest";
import { processArgs, processEnv } from "./process-args.ts";

const image = { entrypoint: ["/entry"], command: ["serve", "--all"] };

test.each([
  ["the image's own", { command: [], args: [] }, ["/entry", "serve", "--all"]],
  ["other arguments", { command: [], args: ["once"] }, ["/entry", "once"]],
  ["a command leaves nothing of the image", { command: ["/bin/sh"], args: [] }, ["/bin/sh"]],
  ["a command with arguments", { command: ["/bin/sh"], args: ["-c", "x"] }, ["/bin/sh", "-c", "x"]],
])("%s", (_name, config, args) => {
  expect(processArgs(config, image)).toEqual(args);
});

test("nothing to run is refused", () => {
  expect(() => processArgs({ command: [], args: [] }, { entrypoint: [], command: [] })).toThrow(
    /what to run/,
  );
});

test("the container's variables win over the image's, and those over the pod's name", () => {
  const envs = [
    { key: "A", value: Buffer.from("container") },
    { key: "C", value: Buffer.from("x=y") },
  ];
  expect(processEnv({ envs }, { env: ["A=image", "PATH=/bin"] }, "web-0")).toEqual([
    "HOSTNAME=web-0",
    "A=container",
    "PATH=/bin",
    "C=x=y",
  ]);
});
