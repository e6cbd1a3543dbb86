import { expect, test } from "vitest";
import { createTaskGroup } from "./task-group.ts";

test("waits for tasks that fail and for tasks that other tasks add", async () => {
  const group = createTaskGroup();
  const done: string[] = [];
  const step = async (name: string) => {
    await Promise.resolve();
    done.push(name);
  };
  const first = step("first").then(() => {
    group.add(step("added by the first"));
    throw new Error("failed");
  });
  first.catch(() => {});
  group.add(first);
  await group.settled();
  expect(done).toEqual(["first", "added by the first"]);
});

test("is settled without tasks", async () => {
  await expect(createTaskGroup().settled()).resolves.toBeUndefined();
});
