import { expect, test } from "vitest";
import { createScreen } from "./screen.ts";

test("the screen shows what a terminal does", () => {
  const screen = createScreen({ columns: 5, rows: 3 });
  screen.write("one\r\ntwo\r\n\x1b[1A\x1b[Jxy\r\n");
  expect(screen.lines()).toEqual(["one", "xy", ""]);
  screen.write("\x1b[3");
  screen.write("1m1234567\x1b[0m\r\n");
  expect(screen.lines()).toEqual(["one", "xy", "12345", "67", ""]);
  // Two lines are above the screen by now: the cursor does not reach them.
  screen.write("\x1b[9A\x1b[Jtop");
  expect(screen.lines()).toEqual(["one", "xy", "top"]);
  expect(() => screen.write("\x1b[2J")).toThrow("does not know");
});
