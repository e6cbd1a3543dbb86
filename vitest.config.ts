import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { LongFilesFirst } from "./test/support/vitest/long-files-first.ts";
import { ownNamespaces } from "./test/support/vitest/own-namespaces.ts";
import { leftOutFiles } from "./test/support/vitest/slow-files.ts";

/** Tests that share modules between files: importing them again costs most of a file's start. They clean up after themselves. */
const sharedModules = "test/{apiserver/{*,kubectl/*,security/*},client/*,scheduler/*,simulated/*}.test.ts";

/** Tests that create bridges, packet rules, cgroups or mounts. */
const nodeTests = [
  "test/{cli-terminal,cluster,kubelet,network-policy,node-agent,proxy,runtime,security,upstream}/**/*.test.ts",
  "test/controllers/{real,up}-*.test.ts",
  "test/monitor/server-up.test.ts",
  "test/store/lmdb-full-disk.test.ts",
  "test/support/vitest/own-namespaces.test.ts",
];

const leftOut = leftOutFiles(process.argv.slice(2));
if (leftOut.length > 0)
  console.log(`${leftOut.length} slow test files are left out; KINDLING_TEST_ROUNDS=10 runs them`);
const exclude = [...leftOut, ...configDefaults.exclude];

const withServers = {
  globalSetup: "test/support/vitest/global-setup.ts",
  testTimeout: 300_000,
  hookTimeout: 300_000,
  // A condition that is polled for comes true; on a busy machine that takes longer than vitest's default of a second.
  expect: { poll: { timeout: 60_000 } },
};

export default defineConfig({
  test: {
    // Unit tests live beside the code; test/ holds what crosses layers, with real servers on real sockets.
    projects: [
      {
        test: {
          name: "unit",
          include: ["{src,dashboard}/**/*.test.ts"],
          // They clean up after themselves, and a process for each file would take most of the time.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        test: {
          name: "integration",
          include: ["{test,examples}/**/*.test.ts"],
          exclude: [sharedModules, ...nodeTests, ...exclude],
          // Examples import the package as its users do.
          alias: { kindling: fileURLToPath(new URL("src/testing/start-cluster.ts", import.meta.url)) },
          ...withServers,
        },
      },
      { test: { name: "node", include: nodeTests, exclude, pool: ownNamespaces, ...withServers } },
      { test: { name: "in-process", include: [sharedModules], isolate: false, ...withServers } },
    ],
    // For two cores: tests with real servers mostly wait. More workers would make those servers miss their deadlines.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
    reporters: process.env.CI ? ["default", "./scripts/count-reporter.mjs"] : ["default"],
  },
});
