// Parts of node:http. Importing it as an ES module would read all of its exports, one of which loads Node's fetch and
// WebSocket: 13 MB that are not used here.

const http: typeof import('node:http') = process.getBuiltinModule('node:http');

export const createServer: typeof http.createServer = http.createServer;
export const validateHeaderName: typeof http.validateHeaderName = http.validateHeaderName;
export const validateHeaderValue: typeof http.validateHeaderValue = http.validateHeaderValue;
