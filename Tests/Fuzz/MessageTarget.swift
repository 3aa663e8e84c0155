import SignalboxCore

/// A message means the same wherever it lies in a batch, and a refused one is kept as it came.
enum MessageTarget {
    private struct Facts: OriginFacts {
        static let kind = "fuzz"
    }

    private static let origin = Origin(source: "fuzz", facts: Facts())
    private static let limits = MessageLimits(bytes: 1 << 16, depth: 64)
    private static let pool = ArrivalPool()
    /// It begins with what could be the rest of a number.
    private static let neighbour = Array("5.5e5".utf8)

    static func run(_ message: [UInt8]) {
        let shapes = MessageShape.all(for: message)
        let alone = shapes.map { shape in
            arrivals { batch in append(message, shape, to: &batch) }.map(MessageAnswer.init)
        }
        for order in [Array(shapes.indices), Array(shapes.indices.reversed())] {
            let together = arrivals { batch in
                for index in order {
                    append(message, shapes[index], to: &batch)
                    append(message, shapes[index], to: &batch)
                    append(neighbour, shapes[0], to: &batch)
                }
            }
            require(together.count == order.count * 3, "each message is one arrival")
            for (place, arrival) in together.enumerated() where place % 3 < 2 {
                let answer = MessageAnswer(arrival)
                answer.check(against: message)
                let first = alone[order[place / 3]]
                require([answer] == first, "\(shapes[order[place / 3]].name): \(answer) in a batch, \(first) alone")
            }
        }
    }

    private static func arrivals(_ fill: (inout ArrivalBatch) -> Void) -> [Arrival] {
        var batch = ArrivalBatch(pool: pool, limits: limits)
        fill(&batch)
        return batch.take()
    }

    private static func append(_ message: [UInt8], _ shape: MessageShape, to batch: inout ArrivalBatch) {
        message.withUnsafeBytes { bytes in
            batch.append(
                bytes,
                token: 7,
                origin: origin,
                receivedAt: WallTime(seconds: 0),
                envelope: shape.envelope,
                payload: shape.payload
            )
        }
    }
}
