/**
 * Holds the bearer token for the server of `--upstream` where the person who starts the program is its one caller: in
 * commands, and over stdio. A variable and no setting, so that it stands in no file and no process list.
 */
export const UPSTREAM_TOKEN = 'MCPPROXY_UPSTREAM_TOKEN';
