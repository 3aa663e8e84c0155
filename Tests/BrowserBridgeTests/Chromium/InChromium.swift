import Testing

/// What is tested in a real browser, one after the other, as each has one of its own.
@Suite(.serialized, .timeLimit(.minutes(10))) enum InChromium {}
