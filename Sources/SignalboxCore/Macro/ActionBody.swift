#if Macros
/// Makes a struct ``BodyReadable`` and writes its initializer, so that it decodes as fast as one read by hand.
///
/// The macro needs the package trait `Macros`:
///
/// ```swift
/// @ActionBody
/// struct Payment {
///     let amount: Int
///     let note: String?
///     let goods: [String]
/// }
/// ```
/// The struct decodes exactly as a struct with synthesized `Decodable` conformance does: the same values, and for a
/// body that it refuses, the same ``BodyError``.
///
/// - Members are read in the order of their properties, or of the cases of `CodingKeys` if the struct has that enum.
/// - An optional property is `nil` if its member is absent or null. Every other property requires its member, even if it
///   has a default value. A `let` property with an initial value is not read.
/// - `CodingKeys` renames members, and leaves out properties that have a default value. Declare the enum inside the
///   struct, because the macro sees no extension.
/// - Every property that is read must be `Decodable`. Its type may be inferred, generic or named as you like, because the
///   compiler chooses how to read each property by its type.
///
/// The initializer is as accessible as the struct. It belongs to no actor, even in a module with main actor isolation.
/// The struct keeps its memberwise initializer. Like every ``BodyReadable`` type it is decoded only from a ``Body``.
///
/// The compiler refuses classes, enums, and structs inside functions. It also refuses properties that are lazy, weak or
/// have a property wrapper, unless `CodingKeys` leaves them out.
@attached(extension, conformances: BodyReadable, names: named(init(reading:)))
public macro ActionBody() = #externalMacro(module: "SignalboxMacros", type: "ActionBodyMacro")
#endif
