// bridge.js follows
