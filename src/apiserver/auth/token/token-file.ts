import { createHmac, randomBytes } from "node:crypto";
import { authenticatedUser, type UserInfo } from "../../request/user-info.ts";

/** Users by the digest of their token. */
export type StaticTokens = ReadonlyMap<string, UserInfo>;

/** Parses lines of `token,user,uid[,"group1,group2"]`. Errors contain line numbers and never the text of a line. */
export function parseTokenFile(text: string, path: string): StaticTokens {
  const users = new Map<string, UserInfo>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === "") continue;
    const columns = splitColumns(line);
    if (!columns) throw new Error(`token file '${path}', line ${index + 1}: unbalanced quotes`);
    const [token = "", username = "", uid = "", groups] = columns;
    if (columns.length < 3) {
      throw new Error(
        `token file '${path}', line ${index + 1}: must have at least 3 columns (token, user name, user uid), found ${columns.length}`,
      );
    }
    if (token === "") continue;
    users.set(
      tokenDigest(token),
      authenticatedUser({ username, uid, groups: groups ? groups.split(",") : [], extra: {} }),
    );
  }
  return users;
}

/** Splits a line of CSV. Quoted columns may contain commas; two quotes stand for one. */
function splitColumns(line: string): string[] | undefined {
  const columns: string[] = [];
  const column = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/gy;
  for (;;) {
    const found = column.exec(line);
    if (!found) return undefined;
    const [, quoted, plain = "", separator] = found;
    columns.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (separator === "") return columns;
  }
}

const key = randomBytes(32);

/**
 * Replaces a token in lookups. The key is new in every process, so that neither the duration of a lookup nor the contents
 * of the memory reveal tokens.
 */
export function tokenDigest(token: string): string {
  return createHmac("sha256", key).update(token).digest("base64");
}
