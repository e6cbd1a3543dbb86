import { expect, test } from "vitest";
import { Signal } from "../../cri/generated/cri.ts";
import { stopSignalOf, stopSignalValue } from "./container-record.ts";

const unset = Signal.SIGNAL_RUNTIME_DEFAULT;

test.each([
  [unset, undefined, "SIGTERM"],
  [unset, "SIGQUIT", "SIGQUIT"],
  [unset, "int", "SIGINT"],
  [unset, "3", "SIGQUIT"],
  [unset, "SIGRTMIN+3", "SIGRTMIN+3"],
  [unset, "nonsense", "SIGTERM"],
  [Signal.SIGNAL_SIGUSR1, "SIGQUIT", "SIGUSR1"],
  [Signal.SIGNAL_SIGRTMINPLUS3, undefined, "SIGRTMIN+3"],
])("chooses for request %s and image %s the signal %s", (requested, image, name) => {
  expect(stopSignalOf(requested, image)).toBe(name);
});

test("converts a name back to its CRI value", () => {
  expect(stopSignalValue("SIGRTMIN+3")).toBe(Signal.SIGNAL_SIGRTMINPLUS3);
  expect(stopSignalValue("SIGTERM")).toBe(Signal.SIGNAL_SIGTERM);
});
