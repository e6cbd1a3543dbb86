import { expect, test } from "vitest";
import { parseNetworkUsage } from "./stats-calls.ts";

const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0:    1216      16    2    0    0     0          0         0      866      11    3    0    0     0       0          0
`;

test("counts the pod's interface but not loopback", () => {
  expect(parseNetworkUsage(text, 1)).toEqual({
    timestamp: 1_000_000n,
    defaultInterface: {
      name: "eth0",
      rxBytes: { value: 1216n },
      rxErrors: { value: 2n },
      txBytes: { value: 866n },
      txErrors: { value: 3n },
    },
    interfaces: [],
  });
});
