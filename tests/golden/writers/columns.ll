define void @column_sums(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ptr %error, ptr %scratch) #0 {
entry:
  %t0 = getelementptr ptr, ptr %buffers, i64 0
  %t1 = load ptr, ptr %t0, align 8
  %t2 = getelementptr ptr, ptr %buffers, i64 1
  %t3 = load ptr, ptr %t2, align 8
  %t4 = icmp slt i64 %begin, %end
  br i1 %t4, label %some0, label %done1
some0:
  %t5 = sub i64 %end, %begin
  %t6 = and i64 %t5, -16
  %t7 = add i64 %begin, %t6
  %t8 = icmp slt i64 %begin, %t7
  br i1 %t8, label %some2, label %done3
some2:
  br label %loop4
loop4:
  %i0.loop4 = phi i64 [ %begin, %some2 ], [ %i0.loop4.next, %after6 ]
  %t10 = getelementptr float, ptr %t1, i64 %i0.loop4
  br label %loop5
loop5:
  %i1.loop5 = phi i64 [ 0, %loop4 ], [ %i1.loop5.next, %loop5 ]
  %t9 = phi <16 x float> [ splat (float 0x0000000000000000), %loop4 ], [ %t14, %loop5 ]
  %t11 = mul nsw i64 %i1.loop5, 20
  %t12 = getelementptr float, ptr %t10, i64 %t11
  %t13 = load <16 x float>, ptr %t12, align 4
  %t14 = fadd contract <16 x float> %t9, %t13
  %i1.loop5.sum = add nuw nsw i64 %i1.loop5, 1
  %i1.loop5.next = call i64 asm "", "=r,0"(i64 %i1.loop5.sum)
  %i1.loop5.more = icmp slt i64 %i1.loop5.next, 100
  br i1 %i1.loop5.more, label %loop5, label %after6
after6:
  %t15 = getelementptr float, ptr %t3, i64 %i0.loop4
  store <16 x float> %t14, ptr %t15, align 4
  %i0.loop4.sum = add nuw nsw i64 %i0.loop4, 16
  %i0.loop4.next = call i64 asm "", "=r,0"(i64 %i0.loop4.sum)
  %i0.loop4.more = icmp slt i64 %i0.loop4.next, %t7
  br i1 %i0.loop4.more, label %loop4, label %after7
after7:
  br label %done3
done3:
  %t16 = icmp slt i64 %t7, %end
  br i1 %t16, label %some8, label %done9
some8:
  %t17 = sub i64 %end, %t7
  %t18 = call i64 @llvm.umin.i64(i64 %t17, i64 16)
  %t19 = trunc i64 %t18 to i32
  %t20 = insertelement <16 x i32> poison, i32 %t19, i64 0
  %t21 = shufflevector <16 x i32> %t20, <16 x i32> poison, <16 x i32> zeroinitializer
  %t22 = icmp ugt <16 x i32> %t21, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t24 = getelementptr float, ptr %t1, i64 %t7
  br label %loop10
loop10:
  %i1.loop10 = phi i64 [ 0, %some8 ], [ %i1.loop10.next, %loop10 ]
  %t23 = phi <16 x float> [ splat (float 0x0000000000000000), %some8 ], [ %t28, %loop10 ]
  %t25 = mul nsw i64 %i1.loop10, 20
  %t26 = getelementptr float, ptr %t24, i64 %t25
  %t27 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr align 4 %t26, <16 x i1> %t22, <16 x float> zeroinitializer)
  %t28 = fadd contract <16 x float> %t23, %t27
  %i1.loop10.sum = add nuw nsw i64 %i1.loop10, 1
  %i1.loop10.next = call i64 asm "", "=r,0"(i64 %i1.loop10.sum)
  %i1.loop10.more = icmp slt i64 %i1.loop10.next, 100
  br i1 %i1.loop10.more, label %loop10, label %after11
after11:
  %t29 = getelementptr float, ptr %t3, i64 %t7
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t28, ptr align 4 %t29, <16 x i1> %t22)
  br label %done9
done9:
  br label %done1
done1:
  ret void
}

declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, <16 x i1>)
declare i64 @llvm.umin.i64(i64, i64)

attributes #0 = { nounwind }
