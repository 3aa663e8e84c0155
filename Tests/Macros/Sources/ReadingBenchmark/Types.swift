import SignalboxCore

/// Types with synthesized conformance.
enum Synthesized {
    struct Payment: Decodable {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String
    }

    struct Position: Decodable {
        let x: Int
        let y: Int
        let level: Int8
        let zone: UInt8
        let port: UInt16
        let seen: Int64
        let speed: Double
        let isMoving: Bool
        let note: String?
        let height: Int?
        let count: UInt32?
    }

    struct Order: Decodable {
        let id: String
        let items: [Item]
        let tags: [String]

        struct Item: Decodable {
            let name: String
            let count: Int
        }
    }
}

/// The same types with readers written by hand.
enum ByHand {
    struct Payment: BodyReadable {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String

        init(reading body: borrowing BodyReader) throws(BodyError) {
            amount = try body.int("amount")
            transactionId = try body.string("transactionId")
            paymentId = try body.string("paymentId")
            paymentGoodsName = try body.string("paymentGoodsName")
        }
    }

    struct Position: BodyReadable {
        let x: Int
        let y: Int
        let level: Int8
        let zone: UInt8
        let port: UInt16
        let seen: Int64
        let speed: Double
        let isMoving: Bool
        let note: String?
        let height: Int?
        let count: UInt32?

        init(reading body: borrowing BodyReader) throws(BodyError) {
            x = try body.int("x")
            y = try body.int("y")
            level = try body.integer("level", as: Int8.self)
            zone = try body.integer("zone", as: UInt8.self)
            port = try body.integer("port", as: UInt16.self)
            seen = try body.integer("seen", as: Int64.self)
            speed = try body.double("speed")
            isMoving = try body.bool("isMoving")
            note = try body.stringIfPresent("note")
            height = try body.intIfPresent("height")
            count = try body.valueIfPresent("count", as: UInt32.self)
        }
    }

    struct Order: BodyReadable {
        let id: String
        let items: [Item]
        let tags: [String]

        struct Item: BodyReadable {
            let name: String
            let count: Int

            init(reading body: borrowing BodyReader) throws(BodyError) {
                name = try body.string("name")
                count = try body.int("count")
            }
        }

        init(reading body: borrowing BodyReader) throws(BodyError) {
            id = try body.string("id")
            items = try body.array("items") { item throws(BodyError) in try Item(reading: item) }
            tags = try body.array("tags") { tag throws(BodyError) in try tag.string() }
        }
    }
}

/// The same types, read by the macro.
enum ByMacro {
    @ActionBody
    struct Payment {
        let amount: Int
        let transactionId: String
        let paymentId: String
        let paymentGoodsName: String
    }

    @ActionBody
    struct Position {
        let x: Int
        let y: Int
        let level: Int8
        let zone: UInt8
        let port: UInt16
        let seen: Int64
        let speed: Double
        let isMoving: Bool
        let note: String?
        let height: Int?
        let count: UInt32?
    }

    @ActionBody
    struct Order {
        let id: String
        let items: [Item]
        let tags: [String]

        @ActionBody
        struct Item {
            let name: String
            let count: Int
        }
    }
}
