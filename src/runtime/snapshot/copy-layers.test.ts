import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyLayers } from "./copy-layers.ts";
import { archive, describeAsRoot, file, hardlink, unpackingPlace } from "./unpack-layer.fixture.ts";

const { unpack, staging } = unpackingPlace();

/** cap_net_bind_service, permitted and effective. */
const bindService = Buffer.from("0100000200040000000000000000000000000000", "hex");

describeAsRoot("a root without overlayfs", () => {
  test("has the capabilities of its files", async () => {
    const xattrs = new Map([["security.capability", bindService]]);
    const named = "caf\xc3\xa9/server";
    const server = file(named, "elf", { mode: 0o755, uid: 7, gid: 8, xattrs });
    const facts = await unpack(archive([server, hardlink("alias", named), file("plain")]));
    expect(facts.attributed).toEqual([named, "alias"]);
    const target = join(staging(), "root");
    mkdirSync(target);
    const layer = { ...facts, name: ".", createdAtMs: 0 };
    await copyLayers({ layersDirectory: staging(), layers: [layer], target });
    const copied = join(target, "café/server");
    expect(readFileSync(copied, "utf8")).toBe("elf");
    expect(statSync(copied)).toMatchObject({ mode: 0o100755, uid: 7, gid: 8 });
    const packed = execFileSync("tar", ["--xattrs", "--xattrs-include=*", "-C", target, "-cf", "-", "."]);
    expect(packed.toString("latin1").match(/SCHILY\.xattr\.security\.capability=/g)).toHaveLength(2);
  });
});
