// node:http without the rest: an import of it as an ES module reads each of its exports, and one of them loads Node's
// own fetch and WebSocket with all that they need. Measured: 13 MB that nothing here uses.

const http: typeof import('node:http') = process.getBuiltinModule('node:http');

export const createServer: typeof http.createServer = http.createServer;
export const validateHeaderName: typeof http.validateHeaderName = http.validateHeaderName;
export const validateHeaderValue: typeof http.validateHeaderValue = http.validateHeaderValue;
