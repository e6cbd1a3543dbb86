import { expect, test } from "vitest";
import { closeAfter, closeInTurn } from "./close-in-turn.ts";

test("closes all others when one fails", async () => {
  const closed: string[] = [];
  const step = (name: string, failure?: Error) => async () => {
    closed.push(name);
    if (failure) throw failure;
  };
  const closing = closeInTurn(
    step("a"),
    step("b", new Error("first")),
    step("c", new Error("second")),
    step("d"),
  );
  await expect(closing).rejects.toThrow("first");
  expect(closed).toEqual(["a", "b", "c", "d"]);
  await expect(closeInTurn(step("e"))).resolves.toBeUndefined();
});

test.each([
  { isStop: true, says: "left open" },
  { isStop: false, says: "why" },
])("throws the error from closing only after a stop: $isStop", async ({ isStop, says }) => {
  const close = async () => {
    throw new Error("left open");
  };
  await expect(closeAfter(new Error("why"), { isStop, close })).rejects.toThrow(says);
  await expect(closeAfter(new Error("why"), { isStop, close: async () => {} })).rejects.toThrow("why");
});
